import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { browserMissing, browserTitle, look } from '../dashboard/browser.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';
import { leakFinder } from './leaks.ts';
import { components, idOf, PLAIN_TEXTS, recordCorpus, SECRET_TEXTS, schedules } from './places.ts';

const leaksIn = leakFinder(SECRET_TEXTS);

async function open(redact?: false) {
  const queue = memorySources({ schedules, ...(redact === false && { redact }) });
  recordCorpus(queue, Date.now());
  // So long that it stays online on a slow machine.
  queue.recordWorker({ hostname: 'w@1', queues: ['mail'], interval: 3_600 });
  const { base } = await serve(EXPRESS, {
    sources: { ...queue, components: { name: 'parts', listComponents: () => components } },
    // What is shown counts here, not how soon: each new text is redacted when it is first read.
    timeoutMs: 60_000,
  });
  const { page, go } = await look(base, '#/');
  /** The whole document once a view shows this. */
  return async (hash: string, shown: string): Promise<string> => {
    await go(hash);
    await until(async () => (await page.locator('#app').textContent())?.includes(shown) === true, 60_000);
    return await page.content();
  };
}

describe.skipIf(browserMissing)(browserTitle('in a browser,'), { timeout: 180_000 }, () => {
  it('no secret is in any view of the page, and what is harmless is', async () => {
    const read = await open();
    expect(leaksIn(await read('#/', 'shop.'))).toEqual([]);
    for (const state of ['FAILURE', 'SUCCESS']) {
      expect(leaksIn(await read(`#/tasks?state=${state}`, 'shop.')), state).toEqual([]);
    }
    expect(leaksIn(await read('#/workflow/root', 'shop.'))).toEqual([]);
    expect(leaksIn(await read('#/workflow/root?view=graph', 'shop.'))).toEqual([]);
    expect(leaksIn(await read('#/workers', 'w@1'))).toEqual([]);
    expect(leaksIn(await read('#/schedules', '***'))).toEqual([]);
    expect(leaksIn(await read('#/system', '***'))).toEqual([]);
    for (let index = 0; index < SECRET_TEXTS.length; index += 20) {
      const html = await read(`#/tasks/${idOf('secret', index)}`, '***');
      expect(leaksIn(html), SECRET_TEXTS[index]?.rest).toEqual([]);
    }
    await read(`#/tasks/${idOf('harmless', 0)}`, PLAIN_TEXTS[0] as string);
  });

  it('the secrets are seen when the redaction is off, which proves that this test can fail', async () => {
    const read = await open(false);
    expect(
      leaksIn(await read(`#/tasks/${idOf('secret', 0)}`, SECRET_TEXTS[0]?.secrets[0] as string)),
    ).not.toEqual([]);
    expect(leaksIn(await read('#/schedules', 'entry 0'))).not.toEqual([]);
    expect(leaksIn(await read('#/system', 'part 0'))).not.toEqual([]);
  });
});
