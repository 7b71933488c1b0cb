import { describe, expect, it } from 'vitest';
import { combineSources, createMonitorRouter, type MonitorOptions } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';

const tasks = { name: 'shop', listTasks: () => ({ tasks: [], next: null, total: 0 }), getTask: () => null };

const create = (options: unknown) => createMonitorRouter(options as MonitorOptions);

describe('options', () => {
  it.each<[options: unknown, message: RegExp]>([
    [null, /'options' must be an object such as \{ sources: memorySources\(\) \}; it is null/],
    ['redis://:hunter2@db', /'options' must be an object .* it is a string/],
    [{ source: {} }, /'source' is not an option\. Did you mean 'sources'\?/],
    [{ timeout: 5 }, /'timeout' is not an option\. Did you mean 'timeoutMs'\?/],
    [{ colour: 'red' }, /'colour' is not an option\. The options are: sources, /],
    [{ dashbord: true }, /Did you mean 'dashboard'\?/],
    [{ sources: [] }, /'sources' must be one source, not an array. Write combineSources\(a, b\)/],
    [{ sources: { task: tasks } }, /'sources\.task' is not a part of a source\. Did you mean 'tasks'\?/],
    [{ sources: { tasks: 5 } }, /'sources\.tasks' must be an object with a name and listTasks, .* it is 5/],
    [{ sources: { tasks: { ...tasks, name: 'my shop' } } }, /'sources\.tasks\.name' must be 1 to 64 of/],
    [
      { sources: { tasks: { name: 'shop' } } },
      /'sources\.tasks\.listTasks' must be a function; it is undefined/,
    ],
    [
      { sources: { tasks: { ...tasks, getTaskTree: {} } } },
      /'sources\.tasks\.getTaskTree' must be a function/,
    ],
    [{ sources: { tasks: { ...tasks, status: 1 } } }, /'sources\.tasks\.status' must be a function/],
    [{ sources: { close: 1 } }, /'sources\.close' must be a function/],
    [
      { metrics: 'http://a/' },
      /'metrics' must be true, false or an object such as \{ hostname: true \}; it is a string/,
    ],
    [{ metrics: { own: true } }, /'metrics\.own' is not an option/],
    [{ exporter: true }, /'exporter' must be the exporter's URL, such as /],
    [{ metrics: true, exporter: 'http://a/' }, /cannot be served together/],
    [{ exporter: 'file:///etc/passwd' }, /express-task-monitor: 'exporter\.url' must begin with http/],
    [{ authorize: true }, /'authorize' must be a function such as .* or false .*; it is a boolean/],
    [
      { redact: {} },
      /'redact' is not an option\. Write it as an option of the sources, such as celerySources/,
    ],
    [{ sources: { redact: true } }, /express-task-monitor: 'sources\.redact' must be an object/],
    [{ sources: { redact: { key: [] } } }, /'sources\.redact\.key' is not an option; the options are keys/],
    [{ sources: { redcat: {} } }, /'sources\.redcat' is not a part of a source\. Did you mean 'redact'\?/],
    [{ limits: { previews: 1 } }, /'limits\.previews' is not an option\. Did you mean 'preview'\?/],
    [
      { limits: { preview: 1.5 } },
      /'limits\.preview' must be a whole number from 16 to 65536, such as 256; it is 1\.5/,
    ],
    [{ limits: 5 }, /'limits' must be an object such as \{ preview: 256 \}; it is 5/],
    [
      { timeoutMs: '5000' },
      /'timeoutMs' must be a whole number from 1 to 600000, such as 5000; it is a string/,
    ],
    [{ timeoutMs: Number.NaN }, /'timeoutMs' must be .* it is NaN/],
    [{ health: { failStatus: 200 } }, /'health\.failStatus' is not an option/],
    [{ limits: { perSource: 2 } }, /'limits\.perSource' is not an option/],
    [{ health: { ping: 1 } }, /'health\.ping' must be true or false/],
    [{ health: { reuse: 1 } }, /Did you mean 'reuseMs'\?/],
    [{ publicUrl: 'javascript:alert(1)' }, /'publicUrl' must be a URL such as/],
    [{ publicUrl: '//example.com' }, /'publicUrl' must be a URL such as/],
    [{ ignoreQuery: 'token' }, /'ignoreQuery' must be names of query parameters, such as \['token'\]/],
    [
      { markers: [] },
      /'markers' must be a function such as \(\) => \[\{ at: new Date\(\), .*; it is an empty array/,
    ],
    [{ onError: 1 }, /'onError' must be a function such as \(error, context\) => …/],
  ])('refuse %o and say what to write', (options, message) => {
    expect(() => create(options)).toThrow(TypeError);
    expect(() => create(options)).toThrow(message);
  });

  it('refuse sources that are passed as the options', () => {
    expect(() => create(memorySources())).toThrow(/'tasks' is not an option\. Write \{ sources \} instead\./);
  });

  it('refuse rules that come too late, when the source masks by its own', () => {
    for (const redact of [false, () => '', { keys: ['tax id'] }] as const) {
      for (const own of [{}, { redact: { keys: ['iban'] } }]) {
        const sources = { ...memorySources(own), redact };
        const refusal = /'sources(?:\[0\])?\.redact' comes too late .* Write it as an option of that source/;
        expect(() => create({ sources })).toThrow(refusal);
        expect(() => combineSources(sources)).toThrow(refusal);
        expect(() => create({ sources: { ...combineSources(memorySources(own)), redact } })).toThrow(refusal);
      }
      // One that masks nothing leaves it to the router.
      expect(() => create({ sources: { ...memorySources({ redact: false }), redact } })).not.toThrow();
    }
  });

  it('never show a value that may be a secret', () => {
    const secret = 'hunter2';
    for (const option of [
      'sources',
      'limits',
      'health',
      'authorize',
      'onError',
      'markers',
      'ignoreQuery',
      'publicUrl',
      'timeoutMs',
    ]) {
      expect(() => create({ [option]: secret })).toThrow(/^(?:(?!hunter2).)*$/s);
    }
    expect(() => create({ sources: { redact: secret } })).toThrow(/^(?:(?!hunter2).)*$/s);
  });
});
