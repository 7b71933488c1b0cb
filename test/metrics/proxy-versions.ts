import type { ProxyModule } from '../../src/routes/metrics.ts';

/** The versions of http-proxy-middleware that the package admits. */
export const PROXY_VERSIONS: readonly { readonly name: string; readonly load: () => Promise<ProxyModule> }[] =
  [
    { name: 'http-proxy-middleware 3', load: () => import('http-proxy-middleware') },
    {
      name: 'http-proxy-middleware 4',
      // Its types speak of another proxy library underneath; what is used of it has the same shape.
      load: () => import('http-proxy-middleware4') as Promise<unknown> as Promise<ProxyModule>,
    },
  ];
