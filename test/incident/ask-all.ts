/**
 * Somebody answers the questions of an incident with the page, by clicking. `TASK_MONITOR_INCIDENT=<folder>` writes what
 * it took and screenshots there.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { look } from '../dashboard/browser.ts';
import type { Facts } from './facts.ts';
import { QUESTIONS } from './questions.ts';
import { createVisitor, type Effort } from './visitor.ts';

/** An incident that a router shows. */
export interface Incident {
  readonly base: string;
  readonly facts: Facts;
}

const folder = process.env.TASK_MONITOR_INCIDENT;
const SIZES = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
const MOST_CLICKS = 3;

const CASES = Object.entries(SIZES).flatMap(([size, viewport]) =>
  QUESTIONS.map((question) => ({ size, viewport, question, text: question.text })),
);

/** Defines the tests. @param name of the deployment, for file names */
export function askAll(name: string, incident: () => Promise<Incident>): void {
  const efforts: (Effort & { readonly size: string })[] = [];

  afterAll(async () => {
    if (folder !== undefined) await writeFile(join(folder, `${name}.json`), JSON.stringify(efforts, null, 2));
  });

  it.each(CASES)('$size: $text', async ({ size, viewport, question }) => {
    const { base, facts } = await incident();
    const { page, settled } = await look(base, '', {
      viewport,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await settled();
    const visitor = createVisitor(page);
    const begun = performance.now();
    const answer = await question.answer(visitor, facts);
    const seconds = Math.round((performance.now() - begun) / 100) / 10;
    efforts.push({ size, question: question.text, clicks: visitor.clicks(), seconds, answer });
    expect(visitor.clicks()).toBeLessThanOrEqual(MOST_CLICKS);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(viewport.width);
    if (folder === undefined) return;
    await mkdir(folder, { recursive: true });
    await settled();
    await page.screenshot({ path: join(folder, `${name}-${question.picture}-${size}.png`) });
  });
}
