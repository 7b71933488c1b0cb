import { describe, expect, it } from 'vitest';
import type { TaskSource } from '../../src/source.ts';
import { until } from '../router/host-kit.ts';
import { browserMissing, browserTitle, type LookOptions, PHONE, visit } from './browser.ts';

const START = Date.UTC(2026, 10, 23, 6, 0);
const MINUTE = 60_000;

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
  const monitor = {
    sources: { tasks: counted },
    markers: () => [
      { at: new Date(START + 30 * MINUTE), text: 'v411' },
      { at: new Date(START + 30 * MINUTE + 1_000), text: 'v412', url: 'https://git.example/v412' },
      { at: new Date(START + 40 * MINUTE), text: 'v413' },
    ],
  };
  const view = await visit(monitor, '#/', { expected: /501/, timezoneId: 'UTC', ...options });
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

  it('draws failures on a scale of their own, and what is unknown as a dotted gap', async () => {
    const { page } = await open();
    const box = await page.locator('.column.fill-failed:not(.is-part)').boundingBox();
    expect(box?.height).toBeGreaterThanOrEqual(24);
    const unknown = await page.locator('.chart-panel svg path[fill^="url("]').last().boundingBox();
    const area = await page.locator('.chart-panel svg').last().boundingBox();
    expect((unknown?.width ?? 0) / (area?.width ?? 1)).toBeCloseTo(5 / 60, 2);
  });

  it('shows one kind alone and rescales, and all of them again', async () => {
    const { page } = await open();
    const top = () => page.locator('.chart-panel').last().locator('.chart-axis span').first().textContent();
    expect(await top()).toBe('1,200');
    await page.getByRole('button', { name: /retried 45/ }).click();
    await until(async () => (await top()) === '6');
    expect(await page.locator('.column.fill-failed').count()).toBe(0);
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
    const phone = { ...PHONE, hasTouch: true, isMobile: true };
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

  it('draws markers, close ones as one, and leads to the failures since one of them', async () => {
    const { page } = await open();
    expect(await page.getByRole('button', { name: /^Marker/ }).count()).toBe(2);
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

  it('ends its axes at figures that are easy to halve', async () => {
    const figures: Readonly<Record<string, readonly [most: number, count: string, seconds: string]>> = {
      none: [0, '1', '1.0 s'],
      few: [7, '8', '8.0 s'],
      dozen: [12, '12', '12 s'],
      more: [101, '120', '2 min'],
      many: [1_001, '1,200', '20 min'],
    };
    const getTaskStats: TaskSource['getTaskStats'] = ({ filter }) => ({
      ...{ stepSeconds: 60, states: {}, names: [], workers: [], queues: [] },
      series: Array.from({ length: 60 }, (_, step) => {
        const most = figures[filter.names[0] ?? '']?.[0] ?? 0;
        return {
          ...{ t: new Date(START + step * MINUTE), received: most, succeeded: most, failed: 0, retried: 0 },
          ...{ runtimeP50: most, runtimeP95: most, runtimeP99: most },
        };
      }),
    });
    const view = await visit({ sources: { tasks: { ...counted, getTaskStats } } }, '#/names', {
      expected: /501|404/,
    });
    const shown: Record<string, unknown> = {};
    for (const [name, [most]] of Object.entries(figures)) {
      await view.go(`#/names/${name}`);
      await view.page.getByRole('slider', { name: `Run time of ${name}`, exact: true }).waitFor();
      const top = (label: string) =>
        view.page
          .locator('figure.chart')
          .filter({ has: view.page.getByRole('slider', { name: label, exact: true }) })
          .locator('.chart-axis span')
          .first()
          .textContent();
      shown[name] = [most, await top(`Tasks of ${name}`), await top(`Run time of ${name}`)];
    }
    expect(shown).toEqual(figures);
  });
});
