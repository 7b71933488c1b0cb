/**
 * Somebody answers the questions of an incident with the page, by clicking. `TASK_MONITOR_INCIDENT=<folder>` writes what
 * it took and screenshots there.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { browserMissing, browserTitle, look } from '../dashboard/browser.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { playOnMemory } from './memory-incident.ts';
import { QUESTIONS } from './questions.ts';
import { createVisitor, type Effort } from './visitor.ts';

const [major] = EXPRESS_MAJORS;
if (major === undefined) throw new Error('there is no Express');

const folder = process.env.TASK_MONITOR_INCIDENT;
const SIZES = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
/** More clicks would be a detour. */
const MOST_CLICKS = 4;

describe.skipIf(browserMissing)(browserTitle('an incident on memory'), () => {
  const efforts: (Effort & { readonly size: string })[] = [];

  afterAll(async () => {
    if (folder !== undefined) await writeFile(join(folder, 'memory.json'), JSON.stringify(efforts, null, 2));
  });

  const cases = Object.entries(SIZES).flatMap(([size, viewport]) =>
    QUESTIONS.map((question) => ({ size, viewport, question, text: question.text })),
  );

  it.each(cases)('$size: $text', async ({ size, viewport, question }) => {
    const { options, ...facts } = playOnMemory();
    const { base } = await serve(major, options);
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
    await page.screenshot({ path: join(folder, `${question.picture}-${size}.png`) });
  });
});
