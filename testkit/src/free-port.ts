import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Range of ports below the ephemeral ports, from `FROM` up to but excluding `BEFORE`. The operating system assigns none of them
 * to another socket between the check and the use.
 */
const FROM = 20_000
const BEFORE = 32_000

/** Finds a free port, for programs that cannot choose a free port themselves. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FROM, BEFORE)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
