#!/usr/bin/env python3
"""A plugin of Muster: pods with the label `licence` run only on nodes that have it.

licences.py PORT FILE: each line of FILE is the name of a licence and the nodes that have it.
"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def nodes_with(licence):
    with open(sys.argv[2]) as file:
        lines = [line.split() for line in file]
    return {node for line in lines if line[:1] == [licence] for node in line[1:]}


def refused(request):
    """Filter: the nodes that do not suit, and why."""
    licence = request["pods"][0].get("labels", {}).get("licence")
    if licence is None:
        return {"refused": {}}
    names = {node["name"] for node in request["nodes"]} - nodes_with(licence)
    return {"refused": {name: f"node(s) had no licence {licence}" for name in names}}


class Plugin(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            answer = {"Filter": refused}[request["point"]](request)
        except Exception as error:
            answer = {"error": repr(error)}
        answer["apiVersion"] = request["apiVersion"]
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Plugin).serve_forever()
