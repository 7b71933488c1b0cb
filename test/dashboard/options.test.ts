import { describe, expect, it } from 'vitest';
import { resolveOptions } from '../../src/options/resolve-options.ts';

describe('the option dashboard', () => {
  it.each([undefined, true, {}])('gives a page without branding for %j', (dashboard) => {
    const options = dashboard === undefined ? {} : { dashboard };
    expect(resolveOptions(options).dashboard).toEqual({ title: 'Task monitor', links: [], logo: null });
  });

  it('gives none for false', () => {
    expect(resolveOptions({ dashboard: false }).dashboard).toBeNull();
  });

  it.each(['https://example.com/x?y=1', 'http://intra/', '/admin', './up', '../up', 'up.svg', '?x', '#x'])(
    'takes the URL %s',
    (url) => {
      const links = [{ text: 'x', url }];
      expect(resolveOptions({ dashboard: { links, logo: url } }).dashboard).toMatchObject({
        links,
        logo: url,
      });
    },
  );

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
    expect(() => resolveOptions({ dashboard: { logo: url } })).toThrow(message);
    expect(() => resolveOptions({ dashboard: { links: [{ text: 'x', url }] } })).toThrow(message);
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
    expect(() => resolveOptions({ dashboard })).toThrow(message);
  });
});
