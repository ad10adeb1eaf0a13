/**
 * A person at a page. Clicks and typing are counted, and what is read must be readable: on the
 * screen, large enough, neither covered nor cut off.
 *
 * Seconds are those that the page took, and those of a person by the keystroke-level model (Card,
 * Moran and Newell): 1.35 s to decide and 1.3 s to point and press for each click, 0.28 s for each
 * letter. A second for each screenful that is scrolled, and one and a half for each answer.
 */

/* global document, getComputedStyle, innerHeight, innerWidth, requestAnimationFrame, scrollY */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

const CLICK_S = 1.35 + 1.3;
const LETTER_S = 0.28;
/** A longer text is pasted. */
const MAX_TYPED = 30;
const SCREENFUL_S = 1;
const READ_S = 1.5;
const MIN_FONT_PX = 11;
/** How long a person waits for anything on the page. */
const PATIENCE_MS = 8_000;
const UNTIMED_PATIENCE_MS = 120_000;

export class Person {
  page;
  clicks = 0;
  #humanSeconds = 0;
  #startedAt = performance.now();

  constructor(page) {
    this.page = page;
  }

  /** @returns a person before the first screen. Signing in is not timed. */
  static async signedIn(context, url, secret, { isTimed }) {
    context.setDefaultTimeout(UNTIMED_PATIENCE_MS);
    const page = await context.newPage();
    await page.goto(url);
    await page.locator('input[type=password]').fill(secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation').waitFor();
    const person = new Person(page);
    await person.waits();
    if (isTimed) context.setDefaultTimeout(PATIENCE_MS);
    person.#startedAt = performance.now();
    return person;
  }

  get seconds() {
    return (performance.now() - this.#startedAt) / 1_000 + this.#humanSeconds;
  }

  async click(target) {
    this.clicks += 1;
    this.#humanSeconds += CLICK_S;
    await this.#scrollsTo(target);
    await target.click();
    await this.waits();
  }

  /** Chooses one of a list that opens: two clicks. */
  async choose(label, option) {
    this.clicks += 2;
    this.#humanSeconds += 2 * CLICK_S;
    const list = this.page.getByLabel(label, { exact: true });
    await this.#scrollsTo(list);
    await list.selectOption({ label: option });
    await this.waits();
  }

  /** Types into the field that has the focus, and presses Enter. Counts as a click. */
  async types(text) {
    this.clicks += 1;
    this.#humanSeconds += text.length > MAX_TYPED ? CLICK_S : (text.length + 1) * LETTER_S;
    await this.page.keyboard.insertText(text);
    await this.page.keyboard.press('Enter');
    await this.page.waitForFunction(
      () => document.querySelector('dialog input[role=combobox]') === null,
    );
    await this.waits();
  }

  /** Opens the search and goes to what it finds first. */
  async finds(text) {
    await this.click(this.page.getByRole('button', { name: /^Search/ }));
    await this.types(text);
  }

  /** @returns the text of an element that can be read on the screen */
  async reads(target) {
    await this.#scrollsTo(target);
    this.#humanSeconds += READ_S;
    const problem = await whileDrawn(() => target.evaluate(whyUnreadable, MIN_FONT_PX));
    if (problem !== undefined) throw new Error(`${problem}: ${await target.innerText()}`);
    return (await target.innerText()).replaceAll(/\s+/g, ' ').trim();
  }

  /** @returns the exact amount or count of an element whose rounded text can be read */
  async readsExactly(target) {
    await this.reads(target);
    return target.evaluate((element) => {
      const value = element.getAttribute('value') ?? element.getAttribute('data-value');
      if (value === null) throw new Error('has no exact value');
      return value;
    });
  }

  /** Waits until the page has drawn the last change, and nothing of it is loading. */
  async waits() {
    await this.page.evaluate(
      () =>
        new Promise((resolve) => {
          requestAnimationFrame(() => requestAnimationFrame(resolve));
        }),
    );
    await this.page.waitForFunction(
      () => document.querySelector('.loading, [aria-busy=true]') === null,
    );
  }

  async #scrollsTo(target) {
    await target.waitFor();
    const before = await this.page.evaluate(() => scrollY);
    await whileDrawn(() => target.scrollIntoViewIfNeeded());
    const screenfuls = await this.page.evaluate(
      (from) => Math.abs(scrollY - from) / innerHeight,
      before,
    );
    this.#humanSeconds += screenfuls * SCREENFUL_S;
  }
}

/** Tries again, because the page may replace the element at this moment. */
async function whileDrawn(work) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === 5 || !/not attached|detached/.test(String(error))) throw error;
      await sleep(50);
    }
  }
}

/** Runs in the page. @returns why nobody can read the element */
function whyUnreadable(element, minFontPx) {
  const box = element.getBoundingClientRect();
  const { fontSize } = getComputedStyle(element);
  if (Number.parseFloat(fontSize) < minFontPx) return `too small (${fontSize})`;
  if (box.left < -1 || box.right > innerWidth + 1) return 'cut off at the side';
  const [first = box] = element.getClientRects();
  const x = first.left + Math.min(first.width / 2, 20);
  const top = document.elementFromPoint(x, first.top + first.height / 2);
  const isSeen = top !== null && (element.contains(top) || top.contains(element));
  if (!isSeen) return 'covered or outside the screen';
  return undefined;
}
