/** Reads what the page says. */
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { until } from '../helpers/redis-server.ts';

/** The text of what is found, once it contains all of this. */
export async function textWith(target: Locator, ...parts: readonly (string | RegExp)[]): Promise<string> {
  let text = '';
  try {
    await until(async () => {
      text = (await target.allTextContents()).join(' ').replaceAll(/\s+/g, ' ');
      return parts.every((part) => (typeof part === 'string' ? text.includes(part) : part.test(text)));
    });
  } catch {
    // The comparison shows what is missing.
    for (const part of parts) expect(text).toMatch(part);
  }
  return text.trim();
}

/** Time goes on while somebody reads, and a long time is shown in minutes. */
const [LEAST_OFF, SHARE_OFF] = [12, 0.05];

/** One of the durations in the text is that from `since` until now. @param since milliseconds since 1970 */
export async function expectAge(target: Locator, since: number): Promise<void> {
  let [text, age] = ['', 0];
  const isNear = (shown: number): boolean => Math.abs(shown - age) <= Math.max(LEAST_OFF, age * SHARE_OFF);
  try {
    await until(async () => {
      text = (await target.first().textContent()) ?? '';
      age = (Date.now() - since) / 1_000;
      return durationsIn(text).some(isNear);
    });
  } catch {
    expect.fail(`${text} has no ${Math.round(age)} s`);
  }
}

/** `1 min 12 s` is 72. */
function durationsIn(text: string): number[] {
  const found = text.matchAll(/(?:(\d+) h)? ?(?:(\d+) min)? ?(?:([\d.]+) s)?/g);
  return [...found].map(([, h = 0, min = 0, s = 0]) => Number(h) * 3_600 + Number(min) * 60 + Number(s));
}

/** The time of day of a moment, as the page writes it. */
export function clockTime(page: Page, time: number): Promise<string> {
  return page.evaluate(
    `new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' }).format(${time})`,
  ) as Promise<string>;
}

export const findings = (page: Page): Locator =>
  page.getByRole('list', { name: 'Problems' }).getByRole('listitem');
