// The external interface as far as its page asks for it, over objects that a test fills by hand: changes are told to
// whoever follows them, and what was posted is kept to be looked at.

import fs from "node:fs";
import http from "node:http";

const page = fs.readFileSync(new URL("../../src/external/page.html", import.meta.url), "utf8");
const POLICY = "default-src 'none'; script-src 'nonce-abc'; style-src 'nonce-abc'; connect-src 'self'; "
  + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const streams = new Set();
let changes = 1;

export const posted = [];

const slots = [0, 1, 2, 3].map((position) => ({
  position, node: `node-${position % 2}`, nodeId: `${position % 2}`, nodePosition: position >> 1,
  state: position === 3 ? "Occupied" : "Free", pod: position === 3 ? "team/<b>x</b>" : null, podUid: null,
}));
const testbed = {
  name: "bed", nodeLabel: "bed", slotsPerNode: 2, resourcesPerSlot: { cpu: "1" }, nodes: 2, total: 4, free: 3, reserved: 0,
  occupied: 1, ready: true, message: "", nodeProblems: [], slots,
};
const job = (name) => ({
  namespace: "default", name, application: "Job", state: "Ready", activeScheduling: null, testbed: null, slots: [],
  startedAt: null, completedAt: null, history: [], accepted: true, message: "<img>", externalScheduler: {},
});
const known = {
  Testbed: new Map([["bed", testbed]]),
  BatchJob: new Map([["a", job("a")], ["b", job("b")]]),
  Scheduling: new Map(),
};

const change = (type, kind, object) => `event: change\ndata: ${JSON.stringify({ type, kind, object })}\n`;

function tell(type, kind, object) {
  changes += 1;
  for (const stream of streams) stream.write(`${change(type, kind, object)}id: e-${changes}\n\n`);
}

export function put(kind, object) {
  const type = known[kind].has(object.name) ? "MODIFIED" : "ADDED";
  known[kind].set(object.name, object);
  tell(type, kind, object);
}

function refuse(answer, code, field, message) {
  answer.statusCode = code;
  answer.end(JSON.stringify({ error: { code, field, message } }));
}

function follow(request, answer) {
  answer.setHeader("content-type", "text/event-stream");
  answer.write("event: reset\ndata: {}\n\n");
  for (const [kind, all] of Object.entries(known)) {
    for (const object of all.values()) answer.write(`${change("ADDED", kind, object)}\n`);
  }
  answer.write(`event: synced\ndata: {}\nid: e-${changes}\n\n`);
  streams.add(answer);
  request.on("close", () => streams.delete(answer));
}

function write(method, path, body, answer) {
  if (method === "POST") {
    const wish = JSON.parse(body);
    if (!wish.name) return refuse(answer, 400, "name", "is missing");
    posted.push(wish);
    put("Scheduling", { namespace: "default", ...wish, state: "Initial", jobs: [], deleting: false, message: "" });
    answer.statusCode = 201;
    return answer.end(JSON.stringify(known.Scheduling.get(wish.name)));
  }
  const gone = known.Scheduling.get(path.split("/").pop());
  if (method !== "DELETE" || !gone) return refuse(answer, 404, null, "there is none");
  known.Scheduling.delete(gone.name);
  tell("DELETED", "Scheduling", gone);
  answer.statusCode = 204;
  return answer.end();
}

export const server = http.createServer((request, answer) => {
  if (request.url === "/") {
    answer.setHeader("content-type", "text/html");
    answer.setHeader("content-security-policy", POLICY);
    return answer.end(page.replaceAll("NONCE-OF-THIS-ANSWER", "abc"));
  }
  if (request.headers.authorization !== "Bearer good") return refuse(answer, 401, null, "the token is not valid");
  if (request.url.startsWith("/api/v1/events")) return follow(request, answer);
  let body = "";
  request.on("data", (part) => { body += part; });
  return request.on("end", () => write(request.method, request.url, body, answer));
});
