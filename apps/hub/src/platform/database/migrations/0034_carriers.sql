-- Carriers of messages between nodes that a node uses: 'PostgreSQL', 'NATS' or 'PostgreSQL and NATS'. A node that shares none with a
-- running one is refused.
alter table cluster_node add column carriers text;
