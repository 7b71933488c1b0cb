import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import type { Express } from 'express';
import helmet from 'helmet';
import type { Page } from 'playwright-core';
import { describe, expect, it, vi } from 'vitest';
import type { ProblemBody } from '../../src/wire.ts';
import { startExample } from '../examples/example-process.ts';
import { ask } from '../helpers/ask.ts';
import { EXPRESS, EXPRESS_MAJORS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { browserMissing, browserTitle, look } from './browser.ts';
import { firstAnswers } from './network.ts';

const assetsOf = (html: string): string[] =>
  [...html.matchAll(/\.\/(assets\/[\w.-]+)/g)].map(([, path]) => path ?? '');

describe.each(EXPRESS_MAJORS)('on $name, the page', (major) => {
  it('is served at the root of the mount, to be asked for anew each time', async () => {
    const { get } = await serve(major, {});
    const { status, headers, text } = await get('/', { ours: false });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
    });
    expect(headers['content-security-policy']).toMatch(/default-src 'none'.*frame-ancestors 'self'/);
    expect(text).toMatch(/^<!doctype html>/);
    expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/);
    const known = await get('/', { ours: false, headers: { 'if-none-match': String(headers.etag) } });
    expect([known.status, known.text]).toEqual([304, '']);
    expect((await get('/', { ours: false, method: 'HEAD' })).text).toBe('');
  });

  it('has files that are kept for ever, packed for whoever takes that', async () => {
    const { get } = await serve(major, {});
    const assets = assetsOf((await get('/', { ours: false })).text);
    expect(assets.length).toBeGreaterThanOrEqual(3);
    for (const path of assets) {
      const plain = await get(`/${path}`, { ours: false });
      const asked = (coding: string) =>
        get(`/${path}`, { ours: false, headers: { 'accept-encoding': coding } });
      const [gzip, brotli] = [await asked('gzip, br;q=0'), await asked('gzip, deflate, br')];
      for (const { status, headers } of [plain, gzip, brotli]) {
        expect(status).toBe(200);
        expect(headers).toMatchObject({
          'cache-control': 'public, max-age=31536000, immutable',
          'x-content-type-options': 'nosniff',
          vary: 'Accept-Encoding',
        });
      }
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(gzip.headers['content-encoding']).toBe('gzip');
      expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
      expect(brotli.headers['content-encoding']).toBe('br');
      expect(brotliDecompressSync(brotli.bytes).equals(plain.bytes)).toBe(true);
    }
  });

  it('sends who leaves out the last slash there, also behind a proxy that strips a prefix', async () => {
    const { url } = await serve(major, {}, { mount: '/a/b' });
    const { status, headers } = await ask(url, '/a/b?x=1', { ours: false });
    expect(status).toBe(308);
    expect(headers.location).toBe('./b/?x=1');
    expect(new URL(String(headers.location), 'http://proxy.example/tools/a/b?x=1').pathname).toBe(
      '/tools/a/b/',
    );
    expect((await ask(url, '/a/b/', { ours: false })).status).toBe(200);
  });

  it('leaves to the host what is not its own', async () => {
    const { get } = await serve(major, {});
    for (const path of [
      '/index.html',
      '/assets/',
      '/assets/app.js',
      '/assets/manifest.json',
      '/assets/..%2findex.cjs',
    ]) {
      expect([path, (await get(path, { ours: false })).text]).toEqual([path, 'host']);
    }
    expect((await get('/', { ours: false, method: 'POST' })).text).toBe('host');
  });

  it('is not there when it is switched off', async () => {
    const { get } = await serve(major, { dashboard: false });
    expect((await get('/', { ours: false })).text).toBe('host');
  });

  it('is guarded like a route, by the name of dashboard', async () => {
    const authorize = vi.fn((_request: unknown, route: string) => route !== 'dashboard');
    const { get } = await serve(major, { authorize });
    const { status, body } = await get<ProblemBody>('/', { ours: false });
    expect([status, body.code]).toEqual([403, 'forbidden']);
    expect(authorize).toHaveBeenCalledWith(expect.anything(), 'dashboard');
    expect((await get('/healthcheck')).status).toBe(200);
  });

  it('guards its files as well', async () => {
    const open = await serve(major, {});
    const [asset] = assetsOf((await open.get('/', { ours: false })).text);
    const { get } = await serve(major, { authorize: () => false });
    expect((await get(`/${asset}`, { ours: false })).status).toBe(403);
  });

  it('answers 503 when the monitor was closed', async () => {
    const { get, router } = await serve(major, {});
    await router.close();
    expect((await get('/', { ours: false })).status).toBe(503);
  });
});

describe('the page', () => {
  it.skipIf(browserMissing)(browserTitle('is complete after six requests of 42 kB in all'), async () => {
    const { base } = await startExample(['examples/memory/server.mjs']);
    let answers: ReadonlyMap<string, number> = new Map();
    const prepare = async (page: Page) => {
      answers = await firstAnswers(page);
    };
    const { page } = await look(base, '#/', { prepare });
    for (const part of [
      '.verdict .findings, .tone-good',
      '.chart',
      '.top-causes',
      '.named',
      '.status-line a',
    ]) {
      await page.locator(part).first().waitFor();
    }
    const bytes = [...answers.values()].reduce((sum, one) => sum + one, 0);
    expect([...answers.keys()].length, String([...answers])).toBeLessThanOrEqual(6);
    expect(bytes, String([...answers])).toBeLessThanOrEqual(42_000);
  });

  it('has views of at most 20 kB, each one file that is loaded when it is opened, and one that they share', async () => {
    const { get } = await serve(EXPRESS, {});
    const first = assetsOf((await get('/', { ours: false })).text);
    const { files } = await import('#page');
    const further = Object.keys(files)
      .map((name) => `assets/${name}`)
      .filter((path) => path.endsWith('.js') && !first.includes(path));
    expect(further.filter((path) => path.includes('-view-')).length).toBeGreaterThanOrEqual(6);
    const shared = further.filter((path) => path.includes('/chunk-'));
    expect(shared.length).toBeLessThanOrEqual(1);
    for (const path of further) {
      const { status, headers, bytes, text } = await get(`/${path}`, { ours: false });
      expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
      expect([path, gzipSync(bytes, { level: 9 }).length <= 20_000]).toEqual([path, true]);
      const imported = [...text.matchAll(/(?:from|import)"\.\/([\w.-]+)"/g)].map(
        ([, name]) => `assets/${name}`,
      );
      expect([...first, ...shared]).toEqual(expect.arrayContaining(imported));
    }
    const guarded = await serve(EXPRESS, { authorize: () => false });
    for (const path of further)
      expect([path, (await guarded.get(`/${path}`, { ours: false })).status]).toEqual([path, 403]);
  });

  it("leaves the host's own policies", async () => {
    const { get } = await serve(EXPRESS, {}, { before: (app: Express) => void app.use(helmet()) });
    const { headers } = await get('/', { ours: false });
    expect(headers['content-security-policy']).toMatch(/upgrade-insecure-requests/);
    expect(headers['referrer-policy']).toBe('no-referrer');
  });

  it('shows what the host calls it, as text', async () => {
    const title = `<script>alert(1)</script>"'&`;
    const logo = 'https://cdn.example/logo.svg';
    const { get } = await serve(EXPRESS, {
      dashboard: { title, logo, links: [{ text: 'Admin', url: '/admin' }] },
    });
    const { text, headers } = await get('/', { ours: false });
    expect(text).not.toContain('<script>alert');
    expect(text).toContain('<title>&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;</title>');
    expect(headers['content-security-policy']).toContain("img-src 'self' https://cdn.example;");
  });
});
