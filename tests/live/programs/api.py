"""A client of the Kubernetes API for the programs beside it: requests, and all objects of a kind with their changes."""
import contextlib
import http.client
import json
import ssl
import threading
import time
from urllib import parse

MERGE = "application/merge-patch+json"
# What may go wrong between two machines, and passes.
PASSING = (OSError, http.client.HTTPException, ValueError)


class Refused(Exception):
    """The server's answer is not that it was done."""

    def __init__(self, code, words):
        super().__init__(f"{code}: {words}")
        self.code = code


class Api:
    """The API server of a kubeconfig that is JSON and has a token."""

    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server = cluster["server"]
        self.token = user["token"]
        self.tls = ssl.create_default_context(cafile=cluster["certificate-authority"])

    def _send(self, method, path, body, content, timeout):
        at = parse.urlsplit(self.server)
        connection = http.client.HTTPSConnection(at.hostname, at.port, context=self.tls, timeout=timeout)
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", "Content-Type": content}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        if answer.status >= 300:
            words = answer.read().decode(errors="replace")
            connection.close()
            raise Refused(answer.status, words)
        return connection, answer

    def ask(self, method, path, body=None, content="application/json"):
        """The answer to a request."""
        connection, answer = self._send(method, path, body, content, 30)
        with contextlib.closing(connection):
            return json.loads(answer.read())

    def find(self, path):
        """An object, or nothing."""
        try:
            return self.ask("GET", path)
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    def patch(self, path, change):
        """Changes an object, or nothing where it is gone."""
        try:
            return self.ask("PATCH", path, change, MERGE)
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    def delete(self, path, options=None):
        """Deletes an object, if it is there and as the options say."""
        try:
            self.ask("DELETE", path, options or {})
        except Refused as refused:
            if refused.code not in (404, 409):
                raise

    def follow(self, path, tell, selector=""):
        """Tells for ever what there is and what becomes of it: tell(whether it is gone, object)."""
        known = {}
        while True:
            try:
                self._follow_once(path, tell, selector, known)
            except Refused as refused:
                # The kind may be defined later, and changes may be too old.
                if refused.code not in (404, 410, 429, 500, 503):
                    raise
            except PASSING:
                pass
            time.sleep(0.1)

    def _follow_once(self, path, tell, selector, known):
        query = {"labelSelector": selector} if selector else {}
        found = self.ask("GET", f"{path}?{parse.urlencode(query)}")
        there = {item["metadata"]["uid"]: item for item in found.get("items", [])}
        for uid in set(known) - set(there):
            tell(True, known.pop(uid))
        for uid, item in there.items():
            known[uid] = item
            tell(False, item)
        query |= {"watch": "true", "timeoutSeconds": "300", "resourceVersion": found["metadata"]["resourceVersion"]}
        connection, answer = self._send("GET", f"{path}?{parse.urlencode(query)}", None, "application/json", 330)
        with contextlib.closing(connection):
            for line in answer:
                change = json.loads(line)
                item = change["object"]
                if change["type"] == "ERROR":
                    return
                gone = change["type"] == "DELETED"
                uid = item["metadata"]["uid"]
                if gone:
                    known.pop(uid, None)
                else:
                    known[uid] = item
                tell(gone, item)


def pods(namespace, name=""):
    """The path of a namespace's pods, or of one of them."""
    return f"/api/v1/namespaces/{namespace}/pods" + (f"/{name}" if name else "")


def beside(work, *arguments):
    """Does something in a thread that ends with the program."""
    threading.Thread(target=work, args=arguments, daemon=True).start()


def now():
    """The time, as Kubernetes writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
