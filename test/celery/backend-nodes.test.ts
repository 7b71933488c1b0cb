import { describe, expect, it } from 'vitest';
import { decodeGroup } from '../../src/sources/celery/protocol/result-nodes.ts';
import { decodeResult } from '../../src/sources/celery/protocol/results.ts';

/** The children that a stored result with this text for `children` names. */
function childrenOf(children: string): unknown {
  const meta = `{"status": "SUCCESS", "result": 1, "children": ${children}, "date_done": null, "task_id": "a"}`;
  return decodeResult(meta, 'a', 100)?.children;
}

const task = (id: string, parent: string | null = null) => ({ id, parent, members: null });

describe('the children in a stored result', () => {
  it('are tasks and groups, also within each other', () => {
    expect(childrenOf('[]')).toEqual([]);
    expect(childrenOf('[ ]')).toEqual([]);
    expect(childrenOf('null')).toEqual([]);
    expect(childrenOf('[[["b", null], null], [["c", "p"], null]]')).toEqual([task('b'), task('c', 'p')]);
    expect(childrenOf('[[["g", "p"], [[["b", null], null], [["h", null], [[["c", null], null]]]]]]')).toEqual(
      [
        {
          id: 'g',
          parent: 'p',
          members: [task('b'), { id: 'h', parent: null, members: [task('c')] }],
        },
      ],
    );
  });

  it('may name their parent with its own parents', () => {
    expect(childrenOf('[[["c", [["p", [["q", null], null]], null]], null]]')).toEqual([task('c', 'p')]);
  });

  it.each([
    '{"a": 1}',
    '"b"',
    '3',
    '[3, "b", null, {}]',
    '[[["", null], null], [[3, null], null], [[], null], [[["b", null], 3]]]',
    '[[["b", null], {"0": 1}]]',
    '[NaN]',
  ])('that are %s name nobody', (children) => {
    expect(childrenOf(children)).toEqual([]);
  });

  it('do not hide the state when they are broken, endless or very many', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(childrenOf(deep)).toEqual([]);
    const nested = `${'[[["g", null], '.repeat(5000)}null${']]'.repeat(5000)}`;
    expect(JSON.stringify(childrenOf(nested)).length).toBeLessThan(2000);
    const many = `[${Array(20_000).fill('[["b", null], null]').join()}]`;
    expect(childrenOf(many)).toHaveLength(10_000);
    const huge = `[${Array(200_000).fill('[["b", null], null]').join()}]`;
    expect(childrenOf(huge)).toEqual([]);
  });
});

describe('a stored group', () => {
  it('names its members', () => {
    const text = '{"result": [["g", null], [[["a", null], null], [["b", null], null]]]}';
    expect(decodeGroup(text)).toEqual({ id: 'g', parent: null, members: [task('a'), task('b')] });
  });

  it.each(['', '3', 'null', '{}', '{"result": null}', '{"result": [["g", null], null]}', '{"result": [['])(
    'that is %j is not read',
    (text) => {
      expect(decodeGroup(text)).toBeNull();
    },
  );
});
