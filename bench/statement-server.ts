// Baseline for actions that read: a minimal fastify server that runs statements on the hub's database in turn, and answers each request with
// the rows of the last one. Forked by a bench. The argument is a JSON object with the connection options and the statements.
import { fastify } from 'fastify'
import pg from 'pg'

/** A statement with its parameters. */
export type BareStatement = { text: string; values: unknown[] }

const { connection, statements } = JSON.parse(process.argv[2]!) as {
  connection: pg.PoolConfig
  statements: BareStatement[]
}
const pool = new pg.Pool({ ...connection, max: 12 })
const app = fastify()
app.post('/', async () => {
  let rows: unknown[] = []
  for (const [at, statement] of statements.entries())
    rows = (await pool.query({ name: `statement ${at}`, ...statement })).rows
  return { rows }
})
await app.listen({ host: '127.0.0.1', port: 0 })
process.on('disconnect', () => process.exit(0))
process.send!({ port: (app.server.address() as { port: number }).port })
