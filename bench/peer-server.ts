// Yardstick for actions: a fastify server that reads the session, the membership and the project from the hub's database for each request.
// Forked by a bench. The argument is a JSON object with the options of the database connection and the ids.
import { fastify } from 'fastify'
import pg from 'pg'

const { connection, sessionId, projectId } = JSON.parse(process.argv[2]!) as {
  connection: pg.PoolConfig
  sessionId: string
  projectId: string
}
const pool = new pg.Pool({ ...connection, max: 12 })
const app = fastify()
const select = (name: string, text: string, values: string[]) => pool.query({ name, text, values })

app.post('/', async () => {
  const session = await select('session', 'select user_id from session where session_id = $1', [sessionId])
  const member = await select(
    'member',
    `select m.is_admin from project p join organization_member m using (organization_id)
      where p.project_id = $1 and m.user_id = $2`,
    [projectId, session.rows[0].user_id],
  )
  const project = await select('project', 'select project_id, name from project where project_id = $1', [
    projectId,
  ])
  return { isAdmin: member.rows[0].is_admin, ...project.rows[0] }
})
await app.listen({ host: '127.0.0.1', port: 0 })
process.send!({ port: (app.server.address() as { port: number }).port })
process.on('disconnect', () => process.exit(0))
