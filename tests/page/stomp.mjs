// The topics of the external interface, as clients of STOMP from npm use them: over a plain WebSocket and over SockJS.
// Whoever starts it serves the interface at EXTERNAL_URL, with a Testbed `bed`, to the token in EXTERNAL_TOKEN.

import assert from "node:assert";
import { Client } from "@stomp/stompjs";
import SockJS from "sockjs-client";
import { WebSocket } from "ws";

const url = process.env.EXTERNAL_URL;
const token = process.env.EXTERNAL_TOKEN;
const within = (promise, what) => {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`not in 10 s: ${what}`)), 10000); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

async function ask(method, path, body, ...codes) {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}${path}`, { method, headers, body: body && JSON.stringify(body) });
  assert(codes.includes(answer.status), `${method} ${path}: ${answer.status} ${await answer.text()}`);
}

const webSocketFactory = () => new WebSocket(`${url.replace("http", "ws")}/scheduler`, ["v12.stomp", "v11.stomp"]);
const sockJsFactory = () => new SockJS(`${url}/scheduler`, null, { transports: ["websocket"] });

// A client that is let in, or what it was told instead.
function connected(webSocketFactory, authorization) {
  const client = new Client({ webSocketFactory, connectHeaders: { Authorization: authorization }, reconnectDelay: 0 });
  const came = new Promise((resolve) => {
    client.onConnect = () => resolve({ client });
    client.onStompError = (frame) => resolve({ client, refused: frame.headers.message });
  });
  client.activate();
  return within(came, "CONNECTED");
}

// Subscribes, and gives what waits for a message of some sort.
async function subscribed(client, topic) {
  const told = [];
  const waiting = [];
  const receipt = `receipt-${topic}`;
  const there = new Promise((resolve) => client.watchForReceipt(receipt, resolve));
  client.subscribe(topic, (message) => {
    told.push(JSON.parse(message.body));
    waiting.forEach((look) => look());
  }, { receipt });
  await within(there, receipt);
  return (what, fits) => within(new Promise((resolve) => {
    const look = () => { const found = told.find(fits); if (found) resolve(found); };
    waiting.push(look);
    look();
  }), `${topic}: ${what}`);
}

async function talk(factory, name) {
  const { refused } = await connected(factory, "Bearer forged");
  assert.match(refused, /is not valid/);
  const { client } = await connected(factory, `Bearer ${token}`);
  const names = await subscribed(client, "/topic/schedulings");
  const whole = await subscribed(client, `/topic/schedulings/${name}`);
  const body = { name, testBed: "bed", queue: ["nobody"], slots: null };
  await ask("POST", "/external/schedulings", body, 200);
  assert.deepEqual(await names("added", (one) => one.resource === name), { action: "ADDED", resource: name });
  const made = await whole("added", (one) => one.action === "ADDED");
  assert.deepEqual([made.resource.name, made.resource.queue], [name, ["nobody"]]);
  await ask("POST", "/external/schedulings", { ...body, queue: ["nobody", "nobody"] }, 200);
  await whole("modified", (one) => one.action === "MODIFIED" && one.resource.queue.length === 2);
  await ask("DELETE", `/external/schedulings/${name}`, undefined, 200);
  await names("deleted", (one) => one.action === "DELETED" && one.resource === name);

  const failed = new Promise((resolve) => { client.onStompError = (frame) => resolve(frame.headers.message); });
  client.publish({ destination: "/topic/schedulings", body: "{}" });
  assert.match(await within(failed, "ERROR"), /SEND is not served/);
  await client.deactivate();
}

await talk(webSocketFactory, "by-web-socket");
await talk(sockJsFactory, "by-sockjs");
console.log("STOMP: ok");
process.exit(0);
