import { describe, expect, it } from 'vitest';
import { createMonitorRouter, type MonitorOptions } from '../../src/index.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';

type Dashboard = Exclude<MonitorOptions['dashboard'], undefined>;

/** What the page is told, or the answer of the host where there is none. */
async function pageOf(dashboard: Dashboard | undefined): Promise<string> {
  const { get } = await serve(EXPRESS, dashboard === undefined ? {} : { dashboard });
  return (await get('/', { ours: false })).text;
}

/** Creates a monitor with an option as somebody without types may write it. */
const create = (dashboard: unknown) => () =>
  createMonitorRouter({ authorize: false, dashboard: dashboard as Dashboard });

describe('the option dashboard', () => {
  it.each([undefined, true, {}])('gives a page without branding for %j', async (dashboard) => {
    expect(await pageOf(dashboard)).toContain('<title>Task monitor</title>');
  });

  it('gives none for false', async () => {
    expect(await pageOf(false)).toBe('host');
  });

  it('takes URLs of http(s) and paths', async () => {
    for (const url of [
      ...['https://example.com/x?y=1', 'http://intra/', '/admin', './up', '../up', 'up.svg', '?x', '#x'],
    ]) {
      const page = await pageOf({ links: [{ text: 'Up', url }], logo: url });
      for (const name of ['url', 'logo']) expect(page).toContain(`&quot;${name}&quot;:&quot;${url}&quot;`);
    }
  });

  it.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    ' javascript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    '//evil.example',
    '\\\\evil.example',
    '/\\evil.example',
    'https://',
    '',
    5,
    null,
  ])('refuses the URL %j', (url) => {
    const message = /must be an http\(s\) URL or a path/;
    expect(create({ logo: url })).toThrow(message);
    expect(create({ links: [{ text: 'x', url }] })).toThrow(message);
  });

  it.each<[dashboard: unknown, message: RegExp]>([
    ['yes', /'dashboard' must be true, false or an object .* it is a string/],
    [null, /'dashboard' must be .* it is null/],
    [{ titles: 'x' }, /'dashboard\.titles' is not an option\. Did you mean 'title'\?/],
    [{ title: ' ' }, /'dashboard\.title' must be a text/],
    [{ title: 'x'.repeat(101) }, /'dashboard\.title' must be a text/],
    [{ links: {} }, /'dashboard\.links' must be an array/],
    [{ links: [{ text: 'x' }] }, /'dashboard\.links\[0\]\.url' must be/],
    [
      { links: [{ text: 'x', url: '/', target: '_blank' }] },
      /'dashboard\.links\[0\]\.target' is not an option/,
    ],
  ])('refuses %j and says what to write', (dashboard, message) => {
    expect(create(dashboard)).toThrow(message);
  });
});
