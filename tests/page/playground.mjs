// The live page of a playground that runs at PLAYGROUND: it is drawn anew while one looks, and looks as before.

import assert from "node:assert";
import { browser, errors, page, until } from "./browser.mjs";

const address = process.env.PLAYGROUND;
await page.goto(address);
const end = () => page.evaluate(() => data.end);
const first = await end();
await until(() => !document.getElementById("live").hidden);
// Who does nothing looks at the end of the time, wherever that is.
assert.equal(await page.evaluate(() => view.cursor === END), true);
await until((before) => data.end > before, first);
assert.equal(await page.evaluate(() => view.cursor === END), true);

// What is chosen stays chosen while it is drawn anew.
await page.type("#search", "g");
await page.evaluate(() => setCursor(500));
const second = await end();
await until((before) => data.end > before + 1000, second);
const kept = await page.evaluate(() => [document.getElementById("search").value, view.cursor, document.activeElement.id]);
assert.deepEqual(kept, ["g", 500, "search"]);

// And it rests when it is told to.
await page.click("#follow");
const rests = await end();
await new Promise((done) => setTimeout(done, 2500));
assert.equal(await end(), rests);
assert.deepEqual(errors, []);
await browser.close();
console.log("the live page: ok");
