/** The dashboard and the alert rules in `docs/grafana`. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { celerySources } from '../../src/celery.ts';
import { combineSources } from '../../src/index.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { ROOT } from '../packaging/packed.ts';
import { serve } from '../router/host-kit.ts';
import { readBoard, withoutVariables } from './grafana-board.ts';
import { isInstalled } from './real-process.ts';

const missing = isInstalled('promtool') ? null : 'install prometheus';
const RULES = join(ROOT, 'docs/grafana/alerts.yml');
const TESTS = join(ROOT, 'test/metrics/alerts.test.yml');
const rules = readFileSync(RULES, 'utf8');
const board = readBoard();

const promtool = (...args: readonly string[]): string =>
  execFileSync('promtool', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' });
const namesIn = (text: string): string[] => [
  ...new Set([...text.matchAll(/\b(?:celery|bullmq|task_monitor)_\w+/g)].map(([name]) => name)),
];

describe.skipIf(missing !== null)(titleUnless(missing, 'the alert rules'), () => {
  it('are valid', () => {
    expect(promtool('check', 'rules', RULES)).toContain('SUCCESS');
  });

  it('fire when they should, and clear', () => {
    expect(promtool('test', 'rules', TESTS)).toContain('SUCCESS');
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    const tests = readFileSync(TESTS, 'utf8');
    expect(alerts.length).toBeGreaterThan(8);
    expect(alerts.filter((name) => !tests.includes(`alertname: ${name}\n        exp_alerts:`))).toEqual([]);
    expect(alerts.filter((name) => !tests.includes(`alertname: ${name} }`))).toEqual([]);
  });
});

describe('the dashboard', () => {
  it.skipIf(missing !== null)(titleUnless(missing, 'asks valid queries'), () => {
    const folder = mkdtempSync(join(tmpdir(), 'monitor-board-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const asked = board.queries.map((expr, index) => ({
      record: `query:${index}`,
      expr: withoutVariables(expr),
    }));
    // JSON is YAML.
    const file = join(folder, 'queries.yml');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'board', rules: asked }] }));
    expect(promtool('check', 'rules', file)).toContain(`${asked.length} rules found`);
  });

  it('has panels that do not overlap, each with a sentence that says what it shows', () => {
    const { panels } = board;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const places = panels.map(({ gridPos: { x, y, w, h } }) => ({ x, y, right: x + w, bottom: y + h }));
    for (const [index, one] of places.entries()) {
      expect(one.right).toBeLessThanOrEqual(24);
      const under = places.slice(index + 1);
      expect(
        under.filter(
          (other) =>
            one.x < other.right && other.x < one.right && one.y < other.bottom && other.y < one.bottom,
        ),
      ).toEqual([]);
    }
    const shown = panels.filter(({ type }) => type !== 'row');
    expect(shown.filter(({ description = '' }) => !/^[A-Z].*\.$/.test(description))).toEqual([]);
  });

  it('adds up within an instance only: with two instances, no figure doubles', () => {
    // Whatever is summed was first taken as the highest of the instances, or is summed for each instance.
    const sums = board.queries.filter((expr) => /\bsum(?! by \(instance|\(max by )/.test(expr));
    expect(sums).toEqual([]);
  });
});

it('the dashboard and the rules name only series that are exported', async () => {
  const sources = combineSources(
    celerySources({ broker: 'redis://127.0.0.1:1' }),
    bullmqSources({ connection: 'redis://127.0.0.1:1' }),
  );
  const { get } = await serve(EXPRESS, { sources, metrics: true });
  const { text } = await get('/metrics');
  const exported = new Set(
    [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name, type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [`${name}`],
    ),
  );
  const named = namesIn(`${rules} ${board.queries.join(' ')} ${board.variables.join(' ')}`);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !exported.has(name))).toEqual([]);
});
