import * as bullmq from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { ComponentsBody } from '../../src/wire.ts';
import { startBullMQ } from '../helpers/bullmq-app.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { browserMissing, visit } from './browser.ts';

const missing = browserMissing ?? redisMissing;

describe.skipIf(missing)(titleUnless(missing, 'the page over a running BullMQ'), () => {
  it('is green where all is well, and speaks of jobs in the terms of BullMQ', async () => {
    const app = await startBullMQ(bullmq);
    onTestFinished(() => app.close());
    const [mail, image] = [app.queue('mail'), app.queue('image')];
    app.worker(mail.name, async () => 'sent', { name: 'mailer' });
    await mail.addBulk(Array.from({ length: 30 }, () => ({ name: 'mail.send', data: { to: 'ann' } })));
    await mail.add('mail.later', {}, { delay: 3_600_000 });
    await app.settled(mail, 30, 'completed');
    const flow = await app.flow().add({
      name: 'album.print',
      queueName: 'mail',
      children: [{ name: 'album.page', queueName: 'image' }],
    });
    const { page, go, get } = await visit({ sources: bullmqSources({ queues: [mail, image] }) }, '#/');
    const rules = (await get<ComponentsBody>('/api/components/')).body.findings?.rules ?? [];
    expect(rules.length).toBeGreaterThan(0);
    await page.getByRole('heading', { name: 'Overview: All good' }).waitFor();
    await page.getByText(`${rules.length} of ${rules.length} checks ran`, { exact: true }).waitFor();
    expect(await page.locator('.verdict-text').getAttribute('class')).toContain('tone-good');

    await go('#/tasks');
    await page.getByText('Error or data').waitFor();
    expect(await page.getByRole('button', { name: 'REVOKED' }).count()).toBe(0);
    await page.getByRole('button', { name: 'delayed' }).click();
    await page.getByText('1 task', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'mail.later' }).waitFor();

    await go('#/queues/mail?range=15m');
    const states = page.getByRole('region', { name: 'States' });
    await states.getByText('completed 30').waitFor();
    expect(await states.locator('li').allTextContents()).toEqual([
      ...['waiting 0', 'paused 0', 'prioritized 0', 'delayed 1', 'waiting-children 1', 'active 0'],
      ...['completed 30', 'failed 0'],
    ]);
    await states.getByRole('link', { name: 'waiting-children' }).click();
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'album.print' }).waitFor();
    await page.getByText('1 task', { exact: true }).waitFor();

    await go(`#/workflow/${encodeURIComponent(`mail:${flow.job.id}`)}?view=graph`);
    await page.getByRole('button', { name: 'album.print, PENDING · waiting-children' }).waitFor();
    const left = async (name: string): Promise<number> =>
      (await page.getByRole('button', { name: new RegExp(`^${name},`) }).boundingBox())?.x ?? Number.NaN;
    expect(await left('album.page')).toBeLessThan(await left('album.print'));
  });
});
