import { describe, expect, it } from 'vitest';
import { resolveOptions } from '../helpers/celery-options.ts';
import { deployment, event, result } from './hints-deployment.ts';

describe('a hint about what is stored', () => {
  it('says that starts are not tracked, only where no events tell of them', () => {
    const { observer, pass, codes, hint } = deployment();
    for (let count = 0; count < 3; count += 1) result(observer, { name: 'shop.pay' });
    expect(codes()).toEqual([]);
    pass(11);
    expect(hint('track_started_off')?.line).toBe('task_track_started = True');
    event(observer, 'started');
    expect(codes()).toEqual([]);
  });

  it('says so until a start is stored', () => {
    const { observer, pass, codes } = deployment();
    for (let count = 0; count < 3; count += 1) result(observer, { name: 'shop.pay' });
    pass(11);
    expect(codes()).toEqual(['track_started_off']);
    result(observer, { type: 'started' });
    expect(codes()).toEqual([]);
  });

  it('says that results are not extended, more loudly where no events tell the names', () => {
    const { observer, pass, codes, hint } = deployment();
    event(observer, 'started');
    for (let count = 0; count < 2; count += 1) result(observer);
    result(observer, { type: 'failed' });
    expect(codes()).toEqual([]);
    result(observer);
    expect(codes()).toEqual(['result_extended_off_restart']);
    observer.connected('broker');
    pass(11);
    expect(hint('result_extended_off')).toMatchObject({
      component: 'backend',
      line: 'result_extended = True',
    });
    result(observer, { name: 'shop.pay' });
    expect(codes()).toEqual(['track_started_off']);
  });

  it('says so of results that were stored before, until a newer one has a name', () => {
    const { observer, codes } = deployment();
    event(observer, 'started');
    for (let count = 0; count < 3; count += 1) result(observer, { stored: true });
    expect(codes()).toEqual(['result_extended_off']);
    result(observer, { name: 'shop.pay' });
    expect(codes()).toEqual([]);
  });

  it('says that no result comes though tasks succeed', () => {
    const { observer, pass, codes, hint, find } = deployment();
    for (let count = 0; count < 5; count += 1) event(observer, 'succeeded');
    expect(codes()).toEqual([]);
    pass(11);
    expect(hint('no_results')?.sentence).toContain('task_ignore_result = False');
    find({ code: 'wrong_result_prefix', component: 'backend', sentence: 'They are elsewhere.', line: 'x' });
    expect(codes()).toEqual(['wrong_result_prefix']);
    find();
    result(observer, { name: 'shop.pay' });
    expect(codes()).toEqual([]);
  });

  it('says so only of the time in which the backend was there', () => {
    const { observer, pass, codes } = deployment();
    for (let count = 0; count < 5; count += 1) event(observer, 'succeeded');
    observer.connected('backend');
    pass(60);
    expect(codes()).toEqual([]);
  });

  it('says what a backend that is none, or not Redis, costs', () => {
    const without = deployment(resolveOptions({ broker: 'redis://h/0' }));
    expect(without.hints()).toMatchObject([{ code: 'no_backend', line: "backend: 'redis://…/1'" }]);
    const settings = { result_backend: 'db+sqlite:///SECRET' };
    const [hint] = deployment(resolveOptions({ broker: 'redis://h/0', settings })).hints();
    expect(hint).toMatchObject({ code: 'foreign_backend', sentence: expect.stringContaining('db+sqlite') });
    expect(hint?.sentence).not.toContain('SECRET');
    expect(hint?.line).toBe("sql: { dialect: 'postgres', query }");
  });

  it.each([
    ['django-db', /Results in django-db are not read\..*Write sql: \{ dialect/],
    ['rpc://', /cannot be read: they are messages that only the client that sent the task receives/],
    ['cache+memcached://h', /Results in cache\+memcached cannot be read\..*result_backend = 'redis:/],
  ])('says what to set instead of %s', (result_backend, sentence) => {
    const settings = { result_backend };
    const [hint] = deployment(resolveOptions({ broker: 'redis://h/0', settings })).hints();
    expect(hint?.sentence).toMatch(sentence);
    expect(hint?.sentence).toContain(hint?.line);
  });

  it('says that results are no JSON, until they are again, or for ten minutes', () => {
    const { observer, pass, codes, hint } = deployment();
    for (const text of ['', '{"status": ', '3']) observer.unreadable('result', text);
    expect(codes()).toEqual([]);
    for (let count = 0; count < 3; count += 1) observer.unreadable('result', '\ufffd\u0004\ufffd');
    expect(hint('result_serializer')?.line).toBe("result_serializer = 'json'");
    for (let count = 0; count < 20; count += 1) result(observer, { name: 'shop.pay', type: 'failed' });
    expect(codes()).toEqual([]);
    for (let count = 0; count < 3; count += 1) observer.unreadable('result', 'children: []');
    expect(codes()).toEqual(['result_serializer']);
    pass(601);
    expect(codes()).toEqual([]);
  });
});
