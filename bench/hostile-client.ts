// A hostile caller, forked by `hostile.ts`. Runs one attack at a time, from its start to its stop.
import { answering } from './child.ts'
import type { HostileRun, HostileTarget } from './hostile-kind.ts'
import { HOSTILE_KINDS } from './hostile-kinds.ts'

/** Starts the attack with this name, or stops the running attack, which is answered with its `HostileRun`. */
export type HostileCommand = { start: { name: string; target: HostileTarget } } | { stop: true }

let run: HostileRun
let stop: () => Promise<void>

answering(async (command: HostileCommand) => {
  if ('start' in command) {
    const { name, target } = command.start
    run = { accepted: 0, refused: 0, acceptedBytes: 0 }
    stop = await HOSTILE_KINDS.find(kind => kind.name === name)!.start(target, run)
    return {}
  }
  await stop()
  return run
})
