import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { FindingNotice, OnFinding } from '../../src/index.ts';
import { codeBlocks } from '../packaging/code-blocks.ts';
import { ROOT } from '../packaging/packed.ts';
import { type Receiver, receiveMails, receivePosts } from './receivers.ts';

const LINK = 'https://shop.example/monitor/#/tasks?queue=mail+%3C%26%3E&state=PENDING';

// Within the checkout, since the recipes import what hosts have installed.
mkdirSync(join(ROOT, '.cache'), { recursive: true });
const folder = mkdtempSync(join(ROOT, '.cache', 'alerting-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The recipe of the page that exports this function, as it stands there. */
async function recipe(name: string): Promise<OnFinding> {
  const block = codeBlocks('docs/alerting.md').find(({ text }) => text.includes(`function ${name}(`));
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, block?.text ?? '');
  const module = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Record<string, OnFinding>;
  const hook = module[name];
  if (hook === undefined) throw new Error(`docs/alerting.md has no ${name}`);
  return hook;
}

/** What the hook of a host is told of a queue in which a task has waited for 25 minutes. */
const RAISED: FindingNotice = {
  ...{ id: '0123456789abcdef', status: 'raised', code: 'queue_waiting', severity: 'warning', source: 'jobs' },
  ...{ since: new Date(Date.now() - 25 * 60_000).toISOString(), subject: 'mail <&>' },
  summary: 'Queue mail <&>: oldest due 25 min ago, 1 task waiting',
  evidence: { waiting: 1 },
  look: 'api/tasks/?queue=mail+%3C%26%3E&state=PENDING',
};
const CLEARED: FindingNotice = { ...RAISED, status: 'cleared' };

async function receiverOf<Received>(opening: Promise<Receiver<Received>>): Promise<Receiver<Received>> {
  const receiver = await opening;
  onTestFinished(() => receiver.close());
  return receiver;
}

describe('the recipes of docs/alerting.md', () => {
  beforeAll(() => vi.stubEnv('PAGERDUTY_ROUTING_KEY', 'R0UT1NGKEY'));
  afterAll(() => vi.unstubAllEnvs());

  it('tell Slack with its escapes, and fail where it does not take them, so that they are called again', async () => {
    const slack = await receiverOf(receivePosts(500));
    vi.stubEnv('SLACK_WEBHOOK_URL', `http://127.0.0.1:${slack.port}/services/T0/B0/x`);
    const tell = await recipe('alertSlack');
    await expect(tell(RAISED, { link: LINK })).rejects.toThrow('Slack answered 500.');
    await tell(RAISED, { link: LINK });
    await tell(CLEARED, { link: LINK });
    expect(slack.received.map(({ path }) => path)).toEqual(Array(3).fill('POST /services/T0/B0/x'));
    expect(slack.received[0]?.headers['content-type']).toBe('application/json');
    const [first, second, third] = slack.received.map(({ body }) => JSON.parse(body) as unknown);
    const summary = 'Queue mail &lt;&amp;&gt;: oldest due 25 min ago, 1 task waiting';
    expect(first).toEqual({ text: `*Warning* (jobs): ${summary} <${LINK}|Open>` });
    expect([second, third]).toEqual([first, { text: `*Resolved* (jobs): ${summary} <${LINK}|Open>` }]);
  });

  it('send mails of one thread', async () => {
    const mails = await receiverOf(receiveMails());
    vi.stubEnv('SMTP_URL', `smtp://127.0.0.1:${mails.port}`);
    const tell = await recipe('alertByMail');
    await tell(RAISED, { link: LINK });
    await tell(CLEARED, { link: LINK });
    expect(mails.received).toHaveLength(2);
    const headers = mails.received.map((mail) =>
      Object.fromEntries(
        [...mail.replaceAll(/\n[ \t]+/g, ' ').matchAll(/^([\w-]+): (.*)$/gm)].map((match) => [
          match[1],
          match[2],
        ]),
      ),
    );
    expect(headers[0]).toMatchObject({
      From: 'Task monitor <monitor@shop.example>',
      To: 'ops@shop.example',
      Subject: '[warning] Queue mail <&>: oldest due 25 min ago, 1 task waiting',
    });
    expect(headers[1]?.Subject).toMatch(/^\[resolved\] Queue mail/);
    expect(headers[0]?.References).toMatch(/^<[0-9a-f]{16}@task-monitor>$/);
    expect(headers[1]?.References).toBe(headers[0]?.References);
    const text = (mails.received[0] ?? '').replaceAll('=\n', '').replaceAll('=3D', '=');
    expect(text).toContain(LINK);
    expect(text).toContain('"waiting": 1');
  });

  it('open and resolve an incident of PagerDuty, as its Events API v2 demands', async () => {
    const pagerDuty = await receiverOf(receivePosts());
    vi.stubEnv('PAGERDUTY_URL', `http://127.0.0.1:${pagerDuty.port}/v2/enqueue`);
    const tell = await recipe('alertPagerDuty');
    await tell(RAISED, { link: LINK });
    await tell(CLEARED, { link: LINK });
    const [opened, resolved] = pagerDuty.received.map(
      ({ body }) => JSON.parse(body) as Record<string, unknown>,
    );
    expect(opened).toEqual({
      routing_key: 'R0UT1NGKEY',
      event_action: 'trigger',
      dedup_key: expect.stringMatching(/^.{1,255}$/),
      payload: {
        ...{ summary: 'Queue mail <&>: oldest due 25 min ago, 1 task waiting', severity: 'warning' },
        ...{ source: 'jobs', component: 'mail <&>', class: 'queue_waiting' },
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        custom_details: expect.objectContaining({ waiting: 1 }),
      },
      links: [{ href: LINK, text: 'Task monitor' }],
    });
    expect(resolved).toMatchObject({ event_action: 'resolve', dedup_key: opened?.dedup_key });
  });
});
