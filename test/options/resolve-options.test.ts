import { describe, expect, it } from 'vitest';
import { resolveOptions } from '../../src/options/resolve-options.ts';

const tasks = { name: 'shop', listTasks: () => ({ tasks: [], next: null, total: 0 }), getTask: () => null };

describe('options', () => {
  it('have a default each', () => {
    expect(resolveOptions()).toEqual({
      sources: {},
      metrics: null,
      ownMetrics: null,
      authorize: null,
      unguarded: true,
      redact: undefined,
      dashboard: { title: 'Task monitor', links: [], logo: null },
      limits: {
        ...{ preview: 256, detail: 65_536, scan: 20_000, page: 1_000, nodes: 20_000 },
        ...{ concurrency: 64, perSource: 32, streams: 1_000 },
      },
      timeoutMs: 5_000,
      health: { failStatus: 503, ping: false, reuseMs: 1_000, findings: 'critical' },
      onFinding: null,
      ...{ markers: null, taskLinks: null },
      publicUrl: null,
      ignoreQuery: new Set(),
      onError: null,
    });
  });

  it('cannot be changed afterwards', () => {
    const options = resolveOptions();
    expect([options, options.limits, options.health].every(Object.isFrozen)).toBe(true);
  });

  it('take a bundle of sources as it is, with members of its own', () => {
    const bundle = { tasks, record: () => {}, close: () => {} };
    expect(resolveOptions({ sources: bundle }).sources).toBe(bundle);
  });

  it('tell a host that guards the mount itself from one that has not thought of it', () => {
    expect(resolveOptions({ authorize: false })).toMatchObject({ authorize: null, unguarded: false });
  });

  it.each([
    ['https://user:secret@example.com/monitor/?token=secret', 'https://example.com/monitor/'],
    ['/ops/monitor?token=secret', '/ops/monitor'],
  ])('show the public URL %s without user, password and query', (publicUrl, shown) => {
    expect(resolveOptions({ publicUrl }).publicUrl).toBe(shown);
  });

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
    [{ metrics: 'file:///etc/passwd' }, /express-task-monitor: 'metrics\.url' must begin with http/],
    [{ authorize: true }, /'authorize' must be a function such as .* or false .*; it is a boolean/],
    [{ redact: true }, /'redact' must be an object/],
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
    [{ health: { failStatus: 500 } }, /'health\.failStatus' must be 200 or 503/],
    [{ health: { ping: 1 } }, /'health\.ping' must be true or false/],
    [{ health: { reuse: 1 } }, /Did you mean 'reuseMs'\?/],
    [{ publicUrl: 'javascript:alert(1)' }, /'publicUrl' must be a URL such as/],
    [{ publicUrl: '//example.com' }, /'publicUrl' must be a URL such as/],
    [{ ignoreQuery: 'token' }, /'ignoreQuery' must be names of query parameters, such as \['token'\]/],
    [
      { markers: [] },
      /'markers' must be a function such as \(\) => \[\{ at: new Date\(\), .*; it is an array/,
    ],
    [{ onError: 1 }, /'onError' must be a function such as \(error, context\) => …/],
  ])('refuse %o and say what to write', (options, message) => {
    expect(() => resolveOptions(options)).toThrow(TypeError);
    expect(() => resolveOptions(options)).toThrow(message);
  });

  it('never show a value that may be a secret', () => {
    const secret = 'hunter2';
    for (const option of [
      'sources',
      'limits',
      'health',
      'authorize',
      'redact',
      'onError',
      'markers',
      'ignoreQuery',
      'publicUrl',
      'timeoutMs',
    ]) {
      expect(() => resolveOptions({ [option]: secret })).toThrow(/^(?:(?!hunter2).)*$/s);
    }
  });
});
