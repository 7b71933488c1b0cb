import { describeError, type RedisProblem } from '../../../redis/problems.ts';
import type { ControlAddress } from './address.ts';

/** The commands that remote control is made of. */
export type NeededCommand = 'SRANDMEMBER' | 'SADD' | 'SREM' | 'DEL' | 'PUBLISH' | 'BRPOP';

/** Why remote control does not work now. */
export interface ControlProblem extends RedisProblem {
  /** What to give the Redis user, as rules of `ACL SETUSER`; `null` when something else is wrong. */
  readonly missingRights: string | null;
}

/** Thrown when a message could not be sent, or its replies not be received. */
export class ControlFailure extends Error {
  readonly problem: ControlProblem;

  constructor(problem: ControlProblem) {
    super(problem.sentence);
    this.name = 'ControlFailure';
    this.problem = problem;
  }
}

/** @param command what was tried */
export function failureOf(error: unknown, command: NeededCommand, address: ControlAddress): ControlFailure {
  if (error instanceof ControlFailure) return error;
  const { code, sentence } = describeError(error);
  if (code !== 'NOPERM') return new ControlFailure({ code, sentence, missingRights: null });
  const missingRights = rightsFor(command, address);
  return new ControlFailure({
    code,
    sentence: `The Redis user may not ${command}, which remote control needs: ${missingRights}.`,
    missingRights,
  });
}

/** What a rule of an ACL calls the keys and channels that a command is used on. */
function rightsFor(command: NeededCommand, address: ControlAddress): string {
  const name = `+${command.toLowerCase()}`;
  if (command === 'PUBLISH') return [name, ...address.channels.map((channel) => `&${channel}`)].join(' ');
  if (command === 'SRANDMEMBER') return `${name} %R~${address.listenersKey}`;
  const isBinding = command === 'SADD' || command === 'SREM';
  return `${name} ~${isBinding ? address.bindingKey : address.replyKey('*')}`;
}
