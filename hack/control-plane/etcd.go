package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcdStartTimeout bounds how long etcd may take to become ready.
const etcdStartTimeout = time.Minute

// runEtcd is a single member that never syncs to disk: what it holds is worth
// nothing after the test. It takes the few flags of the real etcd that a test
// control plane needs, under the same names, so either can be started alike.
func runEtcd() int {
	if err := etcd(); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		return 1
	}
	return 0
}

func etcd() error {
	flags := flag.NewFlagSet("etcd", flag.ExitOnError)
	dir := flags.String("data-dir", "", "directory of the data")
	clientURL := flags.String("listen-client-urls", "", "URL that clients use")
	advertised := flags.String("advertise-client-urls", "", "the same URL, as told to clients")
	peerURL := flags.String("listen-peer-urls", "", "URL that peers use")
	noFsync := flags.Bool("unsafe-no-fsync", false, "never sync to disk")
	logLevel := flags.String("log-level", "warn", "debug, info, warn or error")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	if *dir == "" || *clientURL == "" || *peerURL == "" {
		return fmt.Errorf("--data-dir, --listen-client-urls and --listen-peer-urls are needed")
	}
	if *advertised == "" {
		*advertised = *clientURL
	}

	config := embed.NewConfig()
	config.Dir = *dir
	config.UnsafeNoFsync = *noFsync
	config.LogLevel = *logLevel
	var err error
	if config.ListenClientUrls, err = urls(*clientURL); err != nil {
		return err
	}
	if config.AdvertiseClientUrls, err = urls(*advertised); err != nil {
		return err
	}
	if config.ListenPeerUrls, err = urls(*peerURL); err != nil {
		return err
	}
	config.AdvertisePeerUrls = config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()

	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(etcdStartTimeout):
		return fmt.Errorf("not ready after %s", etcdStartTimeout)
	case err := <-server.Err():
		return err
	case <-stop:
		return nil
	}
	select {
	case err := <-server.Err():
		return err
	case <-server.Server.StopNotify():
		return fmt.Errorf("stopped by itself")
	case <-stop:
		return nil
	}
}

func urls(text string) ([]url.URL, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	return []url.URL{*parsed}, nil
}
