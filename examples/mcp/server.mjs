// Lets an assistant read a monitor, over the Model Context Protocol: node examples/mcp/server.mjs
// MONITOR_URL: where the monitor is mounted. MONITOR_AUTHORIZATION: sent as the header Authorization. See README.md.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createMonitorClient, MonitorClientError } from 'express-task-monitor/client';
import { NOTE, TOOLS } from './tools.mjs';

const { MONITOR_URL = '', MONITOR_AUTHORIZATION: authorization } = process.env;
if (!/^https?:\/\/[^@]+$/.test(MONITOR_URL)) {
  console.error('Set MONITOR_URL to where the monitor is mounted, such as http://127.0.0.1:3000/monitor.');
  process.exit(2);
}
const base = MONITOR_URL.replace(/\/+$/, '');
const client = createMonitorClient(base, authorization ? { headers: { authorization } } : {});

const server = new McpServer({ name: 'task-monitor', version: '1.0.0' }, { instructions: NOTE });
for (const { name, description, input = {}, answer } of TOOLS) {
  const about = { description, inputSchema: input, annotations: { readOnlyHint: true } };
  server.registerTool(name, about, async (given) => {
    try {
      return {
        content: [textOf(JSON.stringify({ note: NOTE, ...(await answer({ client, page }, given)) }))],
      };
    } catch (error) {
      return { isError: true, content: [textOf(problemOf(error))] };
    }
  });
}
await server.connect(new StdioServerTransport());

/** The link to a view of the monitor's page. */
function page(view, id) {
  return `${base}/#/${view}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`;
}

function textOf(text) {
  return { type: 'text', text };
}

function problemOf(error) {
  if (!(error instanceof MonitorClientError)) return String(error);
  if (error.status === 401 || error.status === 403)
    return `The monitor refuses access (${error.status}). Set MONITOR_AUTHORIZATION, such as "Bearer …".`;
  return `${error.message} (${error.code ?? error.status ?? base})`;
}
