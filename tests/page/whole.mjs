// The page of a real `muster controllers --external`: Schedulings of both kinds are built, run to their end on the
// cluster and are deleted, one of them while it runs; and the page shows all of it. `tests/live/page.rs` starts it, with
// the address in EXTERNAL_URL and a token in EXTERNAL_TOKEN.

import assert from "node:assert";
import { add, browser, errors, page, press, until } from "./browser.mjs";

const long = (what, ...more) => page.waitForFunction(what, { timeout: 60000 }, ...more);
// A Scheduling's card, and which of its BatchJobs are in which column.
const is = (scheduling, state) => long((name, word) => {
  const words = document.querySelector(`article[aria-label="Scheduling ${name}"] .row span`);
  return words?.textContent.startsWith(`${word},`);
}, scheduling, state);
const in_column = (scheduling, column, ...jobs) => long((name, list, all) => {
  const place = document.querySelector(`article[aria-label="Scheduling ${name}"] ul[aria-label="${list}"]`);
  const found = [...place?.children || []].map((one) => one.firstChild.textContent);
  return all.every((job) => found.includes(job));
}, scheduling, column, jobs);
const slots = (state, count) => long((word, wanted) =>
  document.querySelectorAll(`#grid .slot.${word}`).length === wanted, state, count);
const job = (name) => page.$$eval("#jobs tbody tr", (rows, wanted) => {
  const cells = rows.map((row) => [...row.children].map((cell) => cell.textContent));
  return cells.find(([found]) => found === wanted);
}, name);
const gone = (name) => long((one) => !document.querySelector(`article[aria-label="Scheduling ${one}"]`), name);

try {
  await page.goto(process.env.EXTERNAL_URL);
  await page.type("#token", process.env.EXTERNAL_TOKEN);
  await page.keyboard.press("Enter");
  await slots("Free", 4);
  await until(() => document.querySelectorAll("#jobs tbody tr").length === 3);

  // On given slots: `count` waits until `sort` has ended, for they share two.
  await page.click("#by-slots");
  await page.type("#name", "night");
  await add("sort");
  await press("[data-key=slot-0]");
  await press("[data-key=slot-1]");
  await add("count");
  for (const slot of [0, 1, 2, 3]) await press(`[data-key=slot-${slot}]`);
  await page.click("#create");
  await in_column("night", "Scheduled", "sort");
  await in_column("night", "InQueue", "count");
  await slots("Occupied", 2);
  await in_column("night", "Scheduled", "count");
  await in_column("night", "Completed", "sort");
  await slots("Occupied", 4);
  const sitting = await page.$$eval("#grid .slot small", (all) => all.map((one) => one.textContent));
  assert(sitting.every((words) => words.startsWith("default/count-")), sitting.join());
  await in_column("night", "Completed", "sort", "count");
  await is("night", "Completed");
  await slots("Free", 4);

  // By queue: the same BatchJob again.
  await page.click("#by-queue");
  await page.type("#name", "again");
  await add("sort");
  await page.$eval("[data-key=count-sort]", (field) => { field.focus(); field.select(); });
  await page.keyboard.type("3");
  await page.click("#create");
  await in_column("again", "Scheduled", "sort");
  await slots("Occupied", 3);
  await is("again", "Completed");
  await long(() => [...document.querySelectorAll("#jobs tbody tr")].some((row) =>
    row.children[0].textContent === "sort" && row.children[6].textContent === "2"));

  // One without an end is deleted while it runs.
  await page.type("#name", "forever");
  await add("endless");
  await page.click("#create");
  await in_column("forever", "Scheduled", "endless");
  assert.deepEqual((await job("endless")).slice(2, 4), ["Running", "forever"]);
  for (const name of ["forever", "again", "night"]) {
    await press(`[data-key=delete-${name}]`);
    await gone(name);
  }
  await slots("Free", 4);
  await long(() => [...document.querySelectorAll("#jobs tbody tr")].some((row) =>
    row.children[0].textContent === "endless" && row.children[2].textContent === "Ready"));
  assert.deepEqual(errors, []);
  if (process.env.PAGE_PICTURE) await page.screenshot({ path: process.env.PAGE_PICTURE });
  console.log("the page of a cluster: ok");
} catch (wrong) {
  console.log(`the page then:\n${await page.evaluate(() => document.body.innerText)}\nand complained: ${errors.join("; ")}`);
  throw wrong;
} finally {
  await browser.close();
}
