// The page of the external interface in a headless Chromium: a Scheduling of each kind is built, one of them goes
// through all states and is deleted, and nothing that is shown is taken for HTML. `hack/page-test` runs it.

import assert from "node:assert";
import { add, browser, errors, page, press, until } from "./browser.mjs";
import { posted, put, server } from "./server.mjs";

await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const text = (selector) => page.$eval(selector, (element) => element.textContent);

try {
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.type("#token", "bad");
  await page.click("#connect");
  await until(() => document.querySelector("#said").textContent.includes("not valid"));
  await page.type("#token", "good");
  await page.keyboard.press("Enter");
  await until(() => document.querySelectorAll("#grid .slot").length === 4);

  // What objects say is text.
  assert.equal(await page.$$eval("#grid b, #jobs img", (all) => all.length), 0);
  assert((await text("#grid")).includes("team/<b>x</b>"));

  // On given slots: by mouse and by keyboard, and in another order than they were added.
  assert.equal(await page.$eval("#strict-box", (box) => box.offsetHeight), 0);
  await page.click("#by-slots");
  await page.type("#name", "one");
  await add("a");
  await page.click("[data-key=slot-2]");
  await page.click("[data-key=slot-0]");
  await add("b");
  await press("[data-key=slot-1]");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.key), "slot-1");
  await press("[data-key=up-b]");
  await page.click("#strict");
  await page.click("#create");
  await until(() => document.querySelector("article h3")?.textContent === "one");
  const jobs = [{ name: "b", slots: [1] }, { name: "a", slots: [2, 0] }];
  const slotBased = { mode: "relaxed", jobs };
  assert.deepEqual(posted.pop(), { name: "one", testbed: "bed", slotBased });

  // It goes through the states without a reload.
  for (const state of ["InQueue", "Submitted", "Scheduled", "Completed", "Failed"]) {
    const now = [{ name: "b", state, slots: [1] }, { name: "a", state: "InQueue" }];
    put("Scheduling", { namespace: "default", name: "one", testbed: "bed", slotBased, state: "AwaitCompletion", jobs: now,
      deleting: false, message: "" });
    await until((column) => document.querySelector(`ul[aria-label="${column}"]`)?.textContent.includes("b"), state);
  }

  // By queue.
  await page.click("#by-queue");
  await page.type("#name", "two");
  await add("b");
  await add("a");
  await press("[data-key=remove-b]");
  await page.$eval("[data-key=count-a]", (field) => { field.focus(); field.select(); });
  await page.keyboard.type("3");
  await page.click("#create");
  await until(() => document.querySelectorAll("article").length === 2);
  assert.deepEqual(posted.pop(), { name: "two", testbed: "bed", queueBased: [{ name: "a", slots: 3 }] });

  await press("[data-key=delete-one]");
  await until(() => document.querySelectorAll("article").length === 1);
  await page.reload();
  await until(() => document.querySelectorAll("#grid .slot").length === 4);
  await page.click("#leave");
  await until(() => document.querySelectorAll("#grid .slot").length === 0);
  assert.deepEqual(errors.filter((words) => !words.includes("401")), []);
  console.log("the page: ok");
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
