import { fork } from 'node:child_process'
import type { SilentOrder, SilentState } from './silent-connections-process.ts'

/** Connections that send Hello and no other frame, so that the hub gets no answers on them. */
export type SilentConnections = Disposable & {
  /** Number of connections that the hub has closed. Throws when the hub refused a connection. */
  closed(): number
}

/**
 * Opens the connections from a separate process, because a single process may lack file descriptors for both ends of ten
 * thousand connections.
 */
export function silentConnections(order: SilentOrder): SilentConnections {
  const child = fork(new URL('./silent-connections-process.ts', import.meta.url), { execArgv: [] })
  let state: SilentState = { closed: 0 }
  child.on('message', report => {
    state = report as SilentState
  })
  child.once('exit', code => {
    state = { ...state, failure: `the process ended with ${code}` }
  })
  child.send(order)
  return {
    closed() {
      if (state.failure !== undefined) throw new Error(state.failure)
      return state.closed
    },
    [Symbol.dispose]: () => void child.kill(),
  }
}
