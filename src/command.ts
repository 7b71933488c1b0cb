#!/usr/bin/env node
/**
 * `npx -p express-task-monitor -p redis express-task-monitor redis://localhost:6379/0`: the monitor without an app, for a
 * first look and for containers; `express-task-monitor doctor …` checks a deployment.
 */
import { examine } from './command/doctor.ts';
import { HELP, readCommand, UsageError } from './command/read-command.ts';
import { serveCommand } from './command/serve-command.ts';

try {
  const command = readCommand(process.argv.slice(2), process.env);
  if (command === null) console.log(HELP);
  else if ('seconds' in command) process.exitCode = await examine(command);
  else await serveCommand(command);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = error instanceof UsageError || error instanceof TypeError ? 2 : 1;
}
