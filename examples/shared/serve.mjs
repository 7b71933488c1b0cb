import { once } from 'node:events';

/** Listens, and prints the address of the monitor that the app has at `/monitor`. */
export async function serve(app, monitor, host, port) {
  const server = app.listen(port, host);
  await once(server, 'listening');

  return {
    url: `http://${host}:${server.address().port}/monitor`,
    async close() {
      server.close();
      server.closeAllConnections();
      await monitor.close();
    },
  };
}
