import { describeError } from '../../../../redis/problems.ts';
import { ControlFailure } from '../../control/failure.ts';
import type { ControlAddress } from './control-address.ts';

/** The Redis commands that remote control uses. */
export type ControlRedisCommand = 'SRANDMEMBER' | 'SADD' | 'SREM' | 'DEL' | 'PUBLISH' | 'BRPOP';

/** @param command the command that failed */
export function controlFailureOf(
  error: unknown,
  command: ControlRedisCommand,
  address: ControlAddress,
): ControlFailure {
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

/** Rules of `ACL SETUSER` that allow the command on the keys and channels of remote control. */
function rightsFor(command: ControlRedisCommand, address: ControlAddress): string {
  const name = `+${command.toLowerCase()}`;
  if (command === 'PUBLISH') return [name, ...address.channels.map((channel) => `&${channel}`)].join(' ');
  if (command === 'SRANDMEMBER') return `${name} %R~${address.listenersKey}`;
  const isBinding = command === 'SADD' || command === 'SREM';
  return `${name} ~${isBinding ? address.bindingKey : address.replyKey('*')}`;
}
