import { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { resolveManagement } from '../../src/sources/celery/brokers/amqp/management/management-options.ts';

const URL_TEXT = 'http://rabbit:15672';

const LOGIN = { username: 'monitor', password: 'covert' };

describe("the option 'management'", () => {
  it('is off without a value', () => {
    expect(resolveManagement(undefined)).toBeNull();
    expect(resolveManagement(null)).toBeNull();
  });

  it.each([
    [URL_TEXT, URL_TEXT],
    ['http://rabbit:15672/', URL_TEXT],
    ['http://rabbit:15672/api', URL_TEXT],
    ['http://rabbit:15672/api/?x=1#part', URL_TEXT],
    ['https://proxy.example/rabbit/', 'https://proxy.example/rabbit'],
    [new URL('https://proxy.example/rabbit/api/'), 'https://proxy.example/rabbit'],
  ])('takes the URL %s', (url, expected) => {
    expect(resolveManagement({ url, ...LOGIN })?.url).toBe(expected);
  });

  it('takes the login from the URL or beside it', () => {
    const expected = `Basic ${Buffer.from('monitor:pä:ss').toString('base64')}`;
    const inUrl = resolveManagement({ url: 'http://monitor:p%C3%A4%3Ass@rabbit:15672' });
    const beside = resolveManagement({ url: URL_TEXT, username: 'monitor', password: 'pä:ss' });
    for (const resolved of [inUrl, beside]) {
      expect(resolved?.url).toBe(URL_TEXT);
      expect(resolved?.authorization()).toBe(expected);
    }
  });

  it('takes an agent', () => {
    const agent = new HttpsAgent();
    expect(resolveManagement({ url: 'https://rabbit:15671', ...LOGIN, agent })?.agent).toBe(agent);
    expect(resolveManagement({ url: URL_TEXT, ...LOGIN })?.agent).toBeNull();
  });

  it.each([
    ['a text', URL_TEXT, "'management' must be an object such as { url: 'http://rabbit:15672'"],
    ['a URL', new URL(URL_TEXT), "'management' must be an object"],
    ['an unknown key', { url: URL_TEXT, user: 'a' }, 'Write username instead'],
    ['no URL', LOGIN, "'management.url' must be the management API's whole URL"],
    ['no whole URL', { url: 'rabbit:15672/covert', ...LOGIN }, "'management.url' must begin with http:"],
    [
      'another scheme',
      { url: 'amqp://monitor:covert@rabbit', ...LOGIN },
      "'management.url' must begin with http:",
    ],
    [
      'a link-local address',
      { url: 'http://169.254.169.254', ...LOGIN },
      "'management.url' must not be a link-local",
    ],
    ['no login', { url: URL_TEXT }, 'write username and password'],
    ['two logins', { url: 'http://a:covert@rabbit', ...LOGIN }, 'Remove one of them'],
    ['a broken login', { url: 'http://a:%E4@rabbit' }, 'Write % as %25'],
    [
      'a user with a colon',
      { url: URL_TEXT, username: 'a:covert', password: '' },
      "'management.username' must be",
    ],
    ['no password', { url: URL_TEXT, username: 'covert' }, "'management.password' must be a string"],
    ['another agent', { url: 'https://rabbit', ...LOGIN, agent: new Agent() }, 'an Agent of node:https'],
  ])('refuses %s', (_what, option, message) => {
    let thrown: unknown;
    try {
      resolveManagement(option);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(TypeError);
    expect(String(thrown)).toContain('celerySources: ');
    expect(String(thrown)).toContain(message);
    expect(String(thrown)).not.toContain('covert');
  });

  it('shows no secret when it is printed', () => {
    const resolved = resolveManagement({ url: URL_TEXT, ...LOGIN });
    const texts = [JSON.stringify(resolved), inspect(resolved, { depth: 9, showHidden: true })];
    const encoded = Buffer.from('monitor:covert').toString('base64');
    for (const text of texts) for (const secret of ['covert', encoded]) expect(text).not.toContain(secret);
  });
});
