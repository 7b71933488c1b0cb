import { describe, expect, it } from 'vitest';
import { createMonitorClient } from '../../src/client.ts';
import { edge, node } from '../dashboard/graph-parts.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Texts that look like the places where the body is cut. */
const TRAPS = ['"nodes":[', '],"edges":[', '],"sources":[', '},{"id":"', '\\"},{\\"id\\":\\"', '\\'];

function bodyOf(size: number) {
  const trap = (index: number): string => TRAPS[index % TRAPS.length] ?? '';
  return {
    meta: { root_id: trap(0), cursor: trap(1), generated_at: '2026-01-01T00:00:00.000Z' },
    nodes: range(size).map((index) =>
      node(`${trap(index)}${index}`, trap(index + 1), { args_preview: `${trap(index)}${trap(index + 2)}` }),
    ),
    edges: range(size).map((index) => edge(`${trap(index)}0`, `${trap(index)}${index}`)),
    sources: [{ name: trap(2), ok: true }],
  };
}

/** What the client makes of this answer. */
async function parseGraph(text: string): Promise<unknown> {
  const answer = async () => new Response(text, { headers: { 'content-type': 'application/json' } });
  return await createMonitorClient('http://monitor.example/', { fetch: answer }).graph('a');
}

describe('the body of a graph', () => {
  it.each([0, 1, 7, 2_000])(
    'of %i nodes is the same whether it is parsed in pieces or at once',
    async (size) => {
      const body = bodyOf(size);
      expect(await parseGraph(JSON.stringify(body))).toEqual(body);
    },
  );

  it('lets others have their turn', async () => {
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    });
    const text = JSON.stringify(bodyOf(40_000));
    await parseGraph(text);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
  });

  it('may be written in another way, or be something else', async () => {
    const body = bodyOf(500);
    expect(await parseGraph(JSON.stringify(body, null, 2))).toEqual(body);
    const { edges, nodes, ...rest } = body;
    expect(await parseGraph(JSON.stringify({ edges, nodes, ...rest }))).toEqual(body);
    await expect(parseGraph('<html>')).rejects.toThrow(SyntaxError);
  });
});
