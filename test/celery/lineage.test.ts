/** What messages, events and results tell of relations, when none of them says it in a field. */
import { describe, expect, it } from 'vitest';
import { relationsOf } from '../graph/graph-kit.ts';
import {
  type ArrayDeployment,
  holdTime,
  LONG,
  openArrayDeployment,
  pass,
  waitingMessage,
} from './array-deployment.ts';

const START = Date.UTC(2026, 10, 21, 3);

/** A deployment whose time is held. */
function open(): ArrayDeployment {
  holdTime(START);
  return openArrayDeployment({ retention: LONG, control: false });
}

/** `parent relation child` of all that hangs together with these tasks. Chords are shown by their tasks' field. */
async function told(deployment: ArrayDeployment, ...ids: string[]): Promise<string[]> {
  await pass(8_000);
  const lines = new Set<string>();
  for (const id of ids) {
    const tree = await deployment.tree(id);
    for (const { parent, child, relation } of tree === null ? [] : relationsOf(tree)) {
      lines.add(`${parent} ${relation} ${child}`);
    }
    for (const task of tree?.tasks ?? [])
      if (task.chordId != null) lines.add(`${task.id} chord ${task.chordId}`);
  }
  return [...lines].sort();
}

const only = (lines: readonly string[], word: string): string[] =>
  lines.filter((line) => line.split(' ')[1] === word);

/** An event of a task that its worker has received. */
function receive({ hear }: ArrayDeployment, uuid: string, parent: string | null, args: string): void {
  const common = {
    type: 'task-received',
    hostname: 'w1@a',
    pid: 1,
    timestamp: START / 1000,
    name: 'shop.add',
  };
  hear({ ...common, uuid, parent_id: parent, args, kwargs: '{}' });
}

const child = (id: string) => [[id, null], null];
const group = (id: string, ...ids: string[]) => [[id, null], ids.map(child)];
const failure = (exception: object) => ({ status: 'FAILURE', result: exception });

/** A task that is not sent yet. */
const signature = (id: string | null, more: object = {}) => ({
  ...{ task: 'shop.add', args: [], kwargs: {}, options: id === null ? {} : { task_id: id } },
  ...{ subtask_type: null, immutable: false, ...more },
});

describe('the body of a chord', () => {
  it('is not told from other tasks by the results that it is called with', async () => {
    const deployment = open();
    deployment.publish('a', { group_id: 'g', result: 5 });
    deployment.publish('b', { group_id: 'g', result: 7 });
    receive(deployment, 'body', 'b', '([5, 7],)');
    expect(only(await told(deployment, 'a', 'b'), 'chord')).toEqual([]);
  });

  it('is known by the group of its header, as Celery 5.6 sets it, when no header task has listed it', async () => {
    const deployment = open();
    deployment.publish('a', { group_id: 'g' });
    deployment.publish('added', { group_id: 'g', parent_id: 'b' });
    deployment.publish('body', { group_id: 'g', parent_id: 'b' });
    deployment.publish('b', { group_id: 'g', children: [child('added')] });
    const lines = await told(deployment, 'a');
    expect(only(lines, 'chord')).toEqual(['a chord body', 'added chord body', 'b chord body']);
    expect(lines).toContain('b child added');
  });

  it('does not follow from a list of children that was too long to be read', async () => {
    const deployment = open();
    const ids = Array.from({ length: 9_999 }, (_, number) => `m${number}`);
    deployment.publish('p', { children: [group('g', ...ids)] });
    deployment.publish('m10000', { group_id: 'g', parent_id: 'p' });
    expect(only(await told(deployment, 'm10000'), 'chord')).toEqual([]);
  });

  it('is what a failed header task broke, but not a task that waited for such a chord', async () => {
    const deployment = open();
    const broken = failure({ exc_type: 'ChordError', exc_message: ["Dependency b raised ValueError('x')"] });
    deployment.publish('body', {
      ...broken,
      traceback: 'File "redis.py", line 5, in on_chord_part_return\n',
    });
    deployment.publish('waiter', { ...broken, traceback: 'File "result.py", line 5, in get\n' });
    deployment.publish('b', { ...failure({ exc_type: 'ValueError', exc_message: ['x'] }), group_id: 'g' });
    deployment.publish('a', { group_id: 'g' });
    expect(only(await told(deployment, 'a'), 'chord')).toEqual(['a chord body', 'b chord body']);
  });
});

describe('an errback', () => {
  it('is a group that the failed task has not listed, called with its id', async () => {
    const deployment = open();
    receive(deployment, 'errback', 'f', "('f',)");
    deployment.publish('errback', { group_id: 'g', parent_id: 'f' });
    deployment.publish('f', failure({ exc_type: 'E' }));
    expect(await told(deployment, 'f')).toContain('f link_error errback');
  });

  it('is no task of a chord that replaced the failed one', async () => {
    const deployment = open();
    receive(deployment, 'header', 'f', '(1, 2)');
    deployment.publish('header', { group_id: 'g', parent_id: 'f' });
    deployment.publish('f', { ...failure({ exc_type: 'E' }), parent_id: 'header', retries: 0 });
    const lines = await told(deployment, 'f');
    expect([...only(lines, 'link_error'), ...only(lines, 'chord')]).toEqual([]);
  });
});

describe('what a waiting message announces', () => {
  it('is the chain behind it, callbacks and the body, through canvases within', async () => {
    const deployment = open();
    const inner = { kwargs: { tasks: [signature('d'), signature('e')] }, subtask_type: 'chain' };
    const header = [signature('c'), signature(null, inner)];
    const chord = signature(null, { kwargs: { header, body: signature('f') }, subtask_type: 'chord' });
    const linked = signature('b', { options: { task_id: 'b', link: [signature('k')] } });
    // The next step stands last.
    const embed = { chain: [signature('z'), chord, linked], errbacks: [signature('x')] };
    deployment.waiting.push({ queue: 'celery', raw: waitingMessage('a', {}, embed) });
    for (const id of 'bcdefkxz') receive(deployment, id, null, '()');
    const lines = await told(deployment, 'a');
    expect(lines).toEqual(
      expect.arrayContaining([
        ...['a chain b', 'b link k', 'b chain c', 'b chain d', 'd chain e'],
        ...['c chord f', 'e chord f', 'f chain z'],
      ]),
    );
    receive(deployment, 'x', 'a', '()');
    expect(await told(deployment, 'a')).toContain('a link_error x');
  });

  it('is found again by its place where it had no id', async () => {
    const deployment = open();
    const embed = { callbacks: [signature(null), signature(null)], chain: [signature('b')] };
    deployment.waiting.push({ queue: 'celery', raw: waitingMessage('a', {}, embed) });
    deployment.publish('a', { children: [child('sent'), group('g', 'k', 'l'), child('b')] });
    for (const id of ['k', 'l', 'b', 'sent']) deployment.publish(id, {});
    expect(only(await told(deployment, 'a'), 'link')).toEqual(['a link k', 'a link l']);
  });

  it('may be nested without end', async () => {
    const deployment = open();
    let chord = JSON.stringify(signature('deepest'));
    for (let depth = 0; depth < 3_000; depth += 1) {
      chord = `{"task": "celery.chain", "options": {}, "subtask_type": "chain", "kwargs": {"tasks": [${chord}]}}`;
    }
    const text = `[[], {}, {"callbacks": null, "errbacks": null, "chain": null, "chord": ${chord}}]`;
    const message = JSON.parse(waitingMessage('a', { group: 'g' })) as object;
    const raw = JSON.stringify({ ...message, body: Buffer.from(text).toString('base64') });
    deployment.waiting.push({ queue: 'celery', raw });
    await pass(8_000);
    expect(await deployment.task('a')).toMatchObject({ state: 'PENDING' });
  });
});

describe('relatives that only something else names', () => {
  it('are looked up, the nearest first, however they are tied', async () => {
    const deployment = openArrayDeployment({ retention: LONG, control: false });
    const stored = { b: { parent_id: 'a' }, c: {}, d: {}, e: {}, z: {} };
    deployment.publish('a', { parent_id: 'b', children: [child('c'), group('g', 'd', 'e')] });
    for (const [id, meta] of Object.entries(stored)) {
      const text = JSON.stringify({ status: 'SUCCESS', result: 1, task_id: id, ...meta });
      deployment.stored.push({ id, text, isCut: false });
    }
    const tree = await deployment.tree('a');
    expect(tree?.tasks.map(({ id }) => id).sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(await deployment.tree('nobody')).toBeNull();
  });

  it('are told, also if they come while it is read', async () => {
    const deployment = openArrayDeployment({ retention: LONG, control: false });
    deployment.publish('a', { parent_id: 'b', children: [child('c')] });
    const reading = deployment.tree('a');
    deployment.publish('b', { children: [child('a')] });
    deployment.publish('c', { parent_id: 'a' });
    expect((await reading)?.tasks.map(({ id }) => id).sort()).toEqual(['a', 'b', 'c']);
  });
});
