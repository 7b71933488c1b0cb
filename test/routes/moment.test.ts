import { describe, expect, it, vi } from 'vitest';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';

/** What the source is asked for when a query says `since`, and the status. */
async function askSince(since: string) {
  const listTasks = vi.fn((_query: { readonly since: Date | null }) => ({ tasks: [], next: null, total: 0 }));
  const { get } = await serve(EXPRESS, {
    sources: { tasks: { name: 'shop', listTasks, getTask: () => null } },
  });
  const { status } = await get(`/api/tasks/?since=${since}`);
  return { status, since: listTasks.mock.calls[0]?.[0].since?.toISOString() ?? null };
}

describe('a moment in a query', () => {
  it.each([
    ['2026-11-21T02:00:00.000Z', '2026-11-21T02:00:00.000Z'],
    ['2026-11-21T02:00:00', '2026-11-21T02:00:00.000Z'],
    ['2026-11-21%2002:00', '2026-11-21T02:00:00.000Z'],
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2026-11-21T02:00:00.123456%2B01:00', '2026-11-21T01:00:00.123Z'],
    // A plus sign that was not escaped arrives as a space.
    ['2026-11-21T02:00:00+01:00', '2026-11-21T01:00:00.000Z'],
    ['2026-11-21T02:00:00-0230', '2026-11-21T04:30:00.000Z'],
    ['2026-11-21t02:00:00z', '2026-11-21T02:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['1795226400', '2026-11-21T02:00:00.000Z'],
    ['1795226400.25', '2026-11-21T02:00:00.250Z'],
    ['-1', '1969-12-31T23:59:59.000Z'],
    ['0', '1970-01-01T00:00:00.000Z'],
  ])('reads %s as %s', async (text, since) => {
    expect(await askSince(text)).toEqual({ status: 200, since });
  });

  it.each([
    ...['now', 'NaN', 'Infinity', '1e9', '0x10', ' 5', '+5', '5 ', '99999999999999'],
    ...['2026-02-30', '2026-13-01', '2026-00-01', '26-11-21', '21.11.2026', '2026-11-21T02'],
    ...['2026-11-21T24:00:00Z', '2026-11-21T02:60:00Z', '2026-11-21T02:00:60Z'],
    ...['2026-11-21T02:00:00+24:00', '2026-11-21T02:00:00+01', '2026-11-21T02:00:00Z\n'],
    '2026-11-21T02:00:00Z; DROP TABLE',
  ])('does not read %j', async (text) => {
    expect(await askSince(encodeURIComponent(text))).toEqual({ status: 400, since: null });
  });
});
