import { describe, expect, it } from 'vitest';
import { niceMost, niceSeconds, stepAt, stepInText, stepInWords } from '../../src/dashboard/charts/chart.ts';
import { groupMarkers } from '../../src/dashboard/charts/markers.ts';
import type { TaskSource } from '../../src/source.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve, until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, type LookOptions, look } from './browser.ts';

const [major] = EXPRESS_MAJORS;
if (major === undefined) throw new Error('there is no Express');

const START = Date.UTC(2026, 10, 23, 6, 0);
const MINUTE = 60_000;

describe('a chart', () => {
  it('ends its axis at a figure that is easy to halve', () => {
    expect([0, 1, 7, 11, 12, 101, 999, 1_001].map(niceMost)).toEqual([1, 1, 8, 12, 12, 120, 1_000, 1_200]);
    expect([0, 0.25, 59, 61, 1_700, 4_000].map(niceSeconds)).toEqual([1, 0.3, 60, 72, 1_800, 4_320]);
  });

  it('names the length of a step', () => {
    expect([10, 60, 1_800, 7_200, 86_400, 172_800].map(stepInWords)).toEqual([
      '10 s',
      'minute',
      '30 min',
      '2 h',
      'day',
      '2 days',
    ]);
  });

  it('finds the step of a time, and none outside', () => {
    const starts = [0, 10, 20];
    expect([null, -1, 0, 9, 20, 29, 30].map((at) => stepAt(starts, 10, at))).toEqual([
      ...[null, null, 0, 0, 2, 2, null],
    ]);
  });

  it('leaves out what is not known, and never calls it 0', () => {
    const row = (label: string, value: number | null) => ({
      ...{ key: label, label, mark: '', tone: 'failed' as const, values: [value], format: String },
    });
    expect(stepInText([row('failed', null), row('succeeded', 0)], 0)).toBe('0 succeeded');
    expect(stepInText([row('failed', null)], 0)).toBe('unknown');
  });

  it('merges markers less than 8 px apart, and leaves out those of other times', () => {
    const marker = (at: number) => ({ at: new Date(at).toISOString(), text: `v${at}`, url: null });
    const groups = groupMarkers([-1, 507, 500, 514, 530, 1_000].map(marker), 0, 1_000, 1_000);
    expect(groups.map(({ x, markers }) => [x, ...markers.map(({ text }) => text)])).toEqual([
      [500, 'v500', 'v507', 'v514'],
      [530, 'v530'],
    ]);
  });
});

/** An hour of tasks: nothing known at first, one failure at 06:20, many retries at the end. */
const counted: TaskSource = {
  name: 'mine',
  listTasks: () => ({ tasks: [], next: null, total: 0 }),
  getTask: () => null,
  getTaskStats: () => ({
    ...{ stepSeconds: 60, states: { SUCCESS: 90 }, names: [], workers: [], queues: [] },
    series: Array.from({ length: 60 }, (_, step) => ({
      t: new Date(START + step * MINUTE),
      ...(step < 5
        ? { received: null, succeeded: null, failed: null, retried: null }
        : { received: 1, succeeded: 1_000, failed: step === 20 ? 1 : 0, retried: step > 50 ? 5 : 0 }),
    })),
  }),
};

async function open(options: LookOptions = {}) {
  const host = await serve(major as NonNullable<typeof major>, {
    sources: { tasks: counted },
    markers: () => [
      { at: new Date(START + 30 * MINUTE), text: 'v411' },
      { at: new Date(START + 30 * MINUTE + 1_000), text: 'v412', url: 'https://git.example/v412' },
    ],
  });
  const view = await look(host.base, '#/', { expected: /501/, timezoneId: 'UTC', ...options });
  const slider = view.page.getByRole('slider', { name: 'Tasks over time' });
  await slider.waitFor();
  await view.settled();
  const value = (): Promise<string | null> => slider.getAttribute('aria-valuetext');
  return { ...view, slider, value, caption: view.page.locator('.chart figcaption') };
}

describe.skipIf(browserMissing)(browserTitle('in a browser, a chart over time'), () => {
  it('shows the values of a step above it at once, and totals else', async () => {
    const { page, slider, caption } = await open();
    expect(await caption.textContent()).toMatch(/failed 1.*retried 45.*succeeded 55,000.*per minute/);
    const { width = 0 } = (await slider.boundingBox()) ?? {};
    await slider.hover({ position: { x: (width * 20.5) / 60, y: 60 } });
    expect(await caption.textContent()).toMatch(/failed 1.*retried 0.*succeeded 1,000.*06:20/);
    await slider.hover({ position: { x: (width * 2.5) / 60, y: 60 } });
    expect(await caption.textContent()).toMatch(/failed –.*retried –.*succeeded –.*06:02/);
    await page.mouse.move(0, 0);
    await until(async () => (await caption.textContent())?.includes('per minute') === true);
  });

  it('draws one failure at least 3 px high, and what is unknown as a dotted gap', async () => {
    const { page } = await open();
    const box = await page.locator('.column-failed').boundingBox();
    expect(box?.height).toBeGreaterThanOrEqual(3);
    const unknown = await page.locator('.chart-panel svg path[fill$="unknown)"]').boundingBox();
    const area = await page.locator('.chart-panel svg').boundingBox();
    expect((unknown?.width ?? 0) / (area?.width ?? 1)).toBeCloseTo(5 / 60, 2);
  });

  it('shows one kind alone and rescales, and all of them again', async () => {
    const { page } = await open();
    const top = () => page.locator('.chart-axis span').first().textContent();
    expect(await top()).toBe('1,200');
    await page.getByRole('button', { name: /retried 45/ }).click();
    await until(async () => (await top()) === '6');
    expect(await page.locator('.column-failed').getAttribute('d')).toBe('');
    await page.getByRole('button', { name: /retried 45/ }).click();
    await until(async () => (await top()) === '1,200');
  });

  it('is one tab stop, moved through by keys, and leads to the tasks of a step', async () => {
    const { page, slider, value } = await open();
    await slider.focus();
    await page.keyboard.press('Home');
    expect(await value()).toBe('06:00: unknown');
    for (let step = 0; step < 20; step += 1) await page.keyboard.press('ArrowRight');
    expect(await value()).toBe('06:20: 1 failed, 0 retried, 1,000 succeeded');
    await page.keyboard.press('Enter');
    const link = page.getByRole('link', { name: 'Tasks of 06:20 ›' });
    await until(() => link.evaluate((element) => element === element.ownerDocument.activeElement));
    await page.keyboard.press('Escape');
    await link.waitFor({ state: 'detached' });
    expect(await slider.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Tasks of 06:00 ›' }).press('Enter');
    await until(() => page.url().includes('#/tasks?'));
    expect(decodeURIComponent(page.url())).toMatch(
      /=2026-11-23T06:00:00\.000Z&\w+=2026-11-23T06:01:00\.000Z$/,
    );
  });

  it('offers the tasks of a step that is tapped, on a phone too', async () => {
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
    const { page, slider, caption } = await open(phone);
    const { width = 0 } = (await slider.boundingBox()) ?? {};
    await slider.tap({ position: { x: (width * 20.5) / 60, y: 120 } });
    expect(await caption.textContent()).toMatch(/failed 1.*06:20/);
    const box = await page.getByRole('link', { name: 'Tasks of 06:20 ›' }).boundingBox();
    expect(box?.height).toBeGreaterThanOrEqual(44);
  });

  it('selects a range by dragging, and by Shift and arrows', async () => {
    const { page, slider } = await open();
    const { x = 0, y = 0, width = 0 } = (await slider.boundingBox()) ?? {};
    const at = (step: number): number => x + (width * (step + 0.5)) / 60;
    await page.mouse.move(at(10), y + 50);
    await page.mouse.down();
    await page.mouse.move(at(19), y + 50, { steps: 4 });
    expect(await slider.getAttribute('aria-valuetext')).toMatch(/^from 06:10: .*, to 06:19: /);
    await page.mouse.up();
    const rangeInAddress = () => decodeURIComponent(page.url().split('?')[1] ?? '');
    await until(() => rangeInAddress() === 'from=2026-11-23T06:10:00.000Z&to=2026-11-23T06:20:00.000Z');
    await slider.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Enter');
    await until(() => rangeInAddress() === 'from=2026-11-23T06:00:00.000Z&to=2026-11-23T06:03:00.000Z');
  });

  it('draws markers, and leads to the failures since one of them', async () => {
    const { page } = await open();
    await page.getByRole('button', { name: 'Marker v411, v412', exact: true }).click();
    await page.getByRole('link', { name: 'Open v412' }).waitFor();
    await page.getByRole('link', { name: 'Failures since v412 ›' }).click();
    await until(() => decodeURIComponent(page.url()).includes('#/failures?from=2026-11-23T06:30:01.000Z'));
  });

  it('is also a table', async () => {
    const { page } = await open();
    await page.getByRole('button', { name: 'As table' }).click();
    const rows = page.getByRole('region', { name: 'Tasks over time' }).getByRole('row');
    expect(await rows.count()).toBe(61);
    expect(await rows.nth(1).getByRole('cell').allTextContents()).toEqual(['–', '–', '–']);
    expect(await rows.nth(21).textContent()).toBe('06:20101,000');
    await page.getByRole('button', { name: 'As table' }).click();
    await page.getByRole('slider', { name: 'Tasks over time' }).waitFor();
  });
});
