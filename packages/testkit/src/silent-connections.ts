import { fork } from 'node:child_process'
import type { SilentOrder, SilentState } from './silent-connections-process.ts'

/** Connections that say Hello and nothing else. */
export type SilentConnections = Disposable & {
  /** How many the hub has ended. Throws when one was not let in. */
  closed(): number
}

/** Opens them from a process of their own: a process may have too few sockets for both ends of ten thousand. */
export function silentConnections(order: SilentOrder): SilentConnections {
  const child = fork(new URL('./silent-connections-process.ts', import.meta.url), { execArgv: [] })
  let state: SilentState = { closed: 0 }
  child.on('message', told => {
    state = told as SilentState
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
