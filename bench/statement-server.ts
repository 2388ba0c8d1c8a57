// Baseline for list actions: a minimal fastify server that answers each request with the rows of one statement on the hub's
// database. Forked by a bench. The argument is a JSON object with the connection options, the statement's text and its values.
import { fastify } from 'fastify'
import pg from 'pg'

const { connection, text, values } = JSON.parse(process.argv[2]!) as {
  connection: pg.PoolConfig
  text: string
  values: string[]
}
const pool = new pg.Pool({ ...connection, max: 12 })
const app = fastify()
app.post('/', async () => ({ rows: (await pool.query({ name: 'rows', text, values })).rows }))
await app.listen({ host: '127.0.0.1', port: 0 })
process.on('disconnect', () => process.exit(0))
process.send!({ port: (app.server.address() as { port: number }).port })
