import { type ChannelRequest, Link, type Transport } from '@muster/link'

/** Two links that are connected in memory. */
export type LinkedPair = { hub: Link; agent: Link }

/** Creates two connected links. `onRequest` accepts or rejects the channels that the hub requests. */
export function linkedPair(onRequest: (request: ChannelRequest) => void): LinkedPair {
  const links: { hub?: Link; agent?: Link } = {}
  const transportTo = (peer: 'hub' | 'agent'): Transport => {
    let isClosed = false
    return {
      bufferedBytes: 0,
      send: message => {
        if (!isClosed) setImmediate(() => links[peer]?.receive(Buffer.from(message)))
      },
      close: () => {
        isClosed = true
        setImmediate(() => {
          links.hub?.transportClosed()
          links.agent?.transportClosed()
        })
      },
    }
  }
  links.hub = new Link(transportTo('agent'))
  links.agent = new Link(transportTo('hub'), { onRequest })
  return { hub: links.hub, agent: links.agent }
}
