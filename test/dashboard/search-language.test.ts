import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SEARCH_PARAMETERS } from '../../src/dashboard/search/fields.ts';
import { formatSearch, parseSearch, SearchError } from '../../src/dashboard/search/parse.ts';
import { anyText } from '../helpers/any-text.ts';
import { cpuMs } from '../helpers/cpu-time.ts';

const parsed = (search: string): string => decodeURIComponent(parseSearch(search).toString());
/** Of a search that cannot be read. */
function faultOf(search: string): string {
  try {
    parseSearch(search);
  } catch (error) {
    if (error instanceof SearchError) return error.message;
    throw error;
  }
  throw new Error(`${search} can be read`);
}

describe('a search', () => {
  it.each([
    [
      'name:mail.* -state:SUCCESS runtime>5s "insufficient funds"',
      'name_prefix=mail.&not_state=SUCCESS&runtime_gt=5&q=insufficient+funds',
    ],
    ['state:failure,RETRY', 'state=FAILURE&state=RETRY'],
    ['state:failed,active', 'engine_state=failed&engine_state=active'],
    ['-state:failed,SUCCESS', 'not_engine_state=failed&not_state=SUCCESS'],
    ['state:MINE', 'state=MINE'],
    ['name:a,b*', 'name=a&name_prefix=b'],
    ['NAME:"a b",c', 'name=a+b&name=c'],
    ['name:"a*"*', 'name_prefix=a*'],
    ['queue:"say \\"hi\\""', 'queue=say+"hi"'],
    ['id:3f2a* -id:3f2a1', 'task_id_prefix=3f2a&not_task_id=3f2a1'],
    ['root:abc source:a,b', 'root_id=abc&source=a&source=b'],
    ['cause:1f3a -cause:2b,3c', 'cause=1f3a&not_cause=2b&not_cause=3c'],
    ['declined -timeout text:x -text:"y z"', 'q=declined&not_q=timeout&q=x&not_q=y+z'],
    ['wait>=500ms wait<2min runtime<=1.5h', 'wait_gte=0.5&wait_lt=120&runtime_lte=5400'],
    ['-runtime>5 retries>0', 'runtime_lte=5&retries_gt=0'],
    ["KeyError('a') 12:30 a=b", "q=KeyError('a')&q=12:30&q=a=b"],
    ['   ', ''],
  ])('%s asks for %s', (search, query) => {
    expect(parsed(search)).toBe(query);
  });

  it.each([
    ['name:a stat:x', 'Unknown field `stat` at character 8. Did you mean `state`?'],
    ['querying:x', /^Unknown field `querying` at character 1\. Fields are state, name,/],
    ['name:ma*l', '`*` works only at the end: see character 8. In quotes it is an ordinary character.'],
    ['mail*', /^`\*` works for name, queue, worker, id: words are found anywhere/],
    ['state:SUC*', /not for `state`. See character 7\.$/],
    ['name:', 'Write a value after `name:` at character 6.'],
    ['name:a,', 'Write a value after `name:` at character 8.'],
    ['a -', 'Write what to exclude after `-` at character 3.'],
    ['a "b', 'The quote at character 3 is not closed.'],
    ['""', 'Write text between the quotes at character 1.'],
    ['"a"b', 'Write a space after the quote at character 3.'],
    ['name:a name:b', '`name` appears again at character 8. Write `name:a,b` for either of them.'],
    ['name>5', 'Write `name:` instead of `name>` at character 1.'],
    ['-root:a', '`root` cannot be excluded: see character 1.'],
    ['root:a,b', 'Write one value for `root` at character 1.'],
    ['state:failed,SUCCESS', 'Write states of Celery or of BullMQ at character 1, not of both.'],
    ['runtime:5', 'Write `runtime>5s` at character 1: `runtime` is a number.'],
    ['runtime>fast', 'Write a number such as `runtime>5s` at character 9. Units are ms, s, min and h.'],
    ['retries>1s', 'Write a number such as `retries>0` at character 9.'],
    ['wait>1 -wait<=2', '`wait<=` appears again at character 8.'],
    [`x ${'y'.repeat(201)}`, 'Write at most 200 characters to search for, at character 3.'],
    [Array.from({ length: 21 }, (_, at) => at).join(' '), 'At most 20 terms: one too many at character 51.'],
  ])('%s is wrong, and says where', (search, fault) => {
    expect(faultOf(search)).toMatch(fault);
  });

  it('asks for parameters that the API has', () => {
    const text = readFileSync(new URL('../../src/openapi/openapi.json', import.meta.url), 'utf8');
    const known: { name: string }[] = JSON.parse(text).paths['/api/tasks/'].get.parameters;
    for (const name of SEARCH_PARAMETERS) expect(known.map((one) => one.name)).toContain(name);
  });

  const text = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .filter((value) => !/\p{Surrogate}/u.test(value));
  const figure = fc.integer({ min: 0, max: 9_999_999 }).map((value) => String(value / 1_000));
  const query = fc
    .array(
      fc.oneof(
        fc.tuple(
          fc.constantFrom(...SEARCH_PARAMETERS.filter((name) => !/_[gl]te?$|state$/.test(name))),
          text,
        ),
        fc.tuple(fc.constantFrom('runtime_gt', 'wait_lte', 'retries_gte'), figure),
        fc.tuple(fc.constantFrom('state', 'not_state'), fc.constantFrom('SUCCESS', 'MINE', 'a b')),
        fc.tuple(fc.constantFrom('not_engine_state'), fc.constantFrom('failed', 'waiting-children')),
      ),
      { maxLength: 12 },
    )
    .map((pairs) => {
      const once = new Map(
        pairs.map(([name, value]) => [
          /root|_[gl]te?$/.test(name) ? name : `${name} ${value}`,
          [name, value],
        ]),
      );
      return new URLSearchParams([...once.values()] as [string, string][]);
    });

  it('is the same when it is written for a query and read again', () => {
    fc.assert(
      fc.property(query, (given) => {
        const again = parseSearch(formatSearch(given));
        const sorted = (one: URLSearchParams) => [...one].map(String).toSorted();
        expect(sorted(again)).toEqual(sorted(given));
        expect(formatSearch(again)).toBe(formatSearch(given));
      }),
      { seed: 7, numRuns: 500 },
    );
  });

  it('is read or refused with a sentence, whatever it is', () => {
    const piece = fc.constantFrom(
      ...[
        '-',
        '"',
        '\\',
        '*',
        ':',
        ',',
        '>',
        '<=',
        ' ',
        'name',
        'state',
        'runtime',
        '5s',
        'é',
        '\u0000',
        '𝒳',
      ],
    );
    const any = fc.oneof(
      anyText(),
      fc.array(piece).map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(any, (search) => {
        try {
          const asked = parseSearch(search);
          expect(parseSearch(formatSearch(asked)).size).toBe(asked.size);
        } catch (error) {
          expect(error).toBeInstanceOf(SearchError);
        }
      }),
      { seed: 11, numRuns: 1_500 },
    );
  });

  // 20 ms is the aim.
  it.each(['"', '-', '*', 'a*', ',', 'name:', 'name:a,', '\\"', '"\\', ' ', 'a', 'z:', '>', 'runtime>1 '])(
    'of 64 KiB of %j takes no time',
    (piece) => {
      const start = cpuMs();
      try {
        parseSearch(piece.repeat(65_536 / piece.length));
      } catch (error) {
        expect(error).toBeInstanceOf(SearchError);
        expect((error as Error).message.length).toBeLessThan(300);
      }
      expect(cpuMs() - start).toBeLessThan(200);
    },
  );
});
