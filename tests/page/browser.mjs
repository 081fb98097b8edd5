// A headless Chromium with one page, and what both tests do with it.

import chromium from "@sparticuz/chromium";
import puppeteer from "puppeteer-core";

export const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM || await chromium.executablePath(), args: chromium.args, headless: "shell",
  defaultViewport: { width: 1300, height: 1100 },
});
export const page = await browser.newPage();
// What the page complains about.
export const errors = [];
page.on("console", (line) => { if (["error", "warning"].includes(line.type())) errors.push(line.text()); });
page.on("pageerror", (error) => errors.push(error.message));

export const until = (what, ...more) => page.waitForFunction(what, { timeout: 10000 }, ...more);
export const press = async (selector) => { await page.focus(selector); await page.keyboard.press("Enter"); };
export const add = async (job) => { await page.select("#job", job); await page.click("#add"); };
