import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { useActionPages } from '../../api/queries.ts'
import { useChangeSearch } from '../../lib/app/search.ts'
import { CreateButton } from '../../ui/app/CreateButton.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { ActionsHead, SortHead } from '../../ui/app/Table.tsx'
import { ListTable } from '../../ui/lazy/ListTable.tsx'
import { NewUserDialog } from './NewUserDialog.tsx'
import { SetActiveDialog } from './SetActiveDialog.tsx'
import { SetAdminDialog } from './SetAdminDialog.tsx'
import { type User, UserRow } from './UserRow.tsx'

type UserSearch = { q?: string; sort?: string }

const PAGE_SIZE = 100
const SORTS = ['displayName', '-displayName', 'email', '-email']

const route = getRouteApi('/authenticated/admin/users')

/** The accounts of the instance, newest first by default. */
export function UsersPage() {
  const search = route.useSearch()
  const change = useChangeSearch<UserSearch>()
  const [isCreating, setCreating] = useState(false)
  const [changed, setChanged] = useState<User>()
  const [switched, setSwitched] = useState<User>()
  const text = search.q?.trim()
  const sort = SORTS.find(one => one === search.sort)
  const list = useActionPages('users_Query', {
    limit: PAGE_SIZE,
    ...(text && { filter: { text } }),
    ...(sort && { sort }),
  })
  const users = list.data?.pages.flatMap(page => page.users)
  return (
    <ListPage
      title="Users"
      what="users"
      list={list}
      shown={users?.length}
      actions={<CreateButton onClick={() => setCreating(true)}>New User</CreateButton>}
    >
      <div className="tools">
        <FilterBox
          value={search.q ?? ''}
          onChange={q => change({ q })}
          label="Filter users"
          placeholder="Filter by name, email or id"
        />
      </div>
      <ListTable
        caption="Users"
        what="users"
        columns={5}
        dense
        head={
          <tr>
            <th scope="col">Id</th>
            <SortHead field="displayName" sort={sort} onSort={next => change({ sort: next })}>
              Name
            </SortHead>
            <SortHead field="email" sort={sort} onSort={next => change({ sort: next })}>
              Email
            </SortHead>
            <th scope="col">Admin</th>
            <ActionsHead />
          </tr>
        }
        rows={users?.map(user => (
          <UserRow
            key={user.userId}
            user={user}
            onSetAdmin={() => setChanged(user)}
            onSetActive={() => setSwitched(user)}
          />
        ))}
        onClear={() => change({ q: '' })}
      />
      {changed && <SetAdminDialog user={changed} onClose={() => setChanged(undefined)} />}
      {switched && <SetActiveDialog user={switched} onClose={() => setSwitched(undefined)} />}
      {isCreating && <NewUserDialog onClose={() => setCreating(false)} />}
    </ListPage>
  )
}
