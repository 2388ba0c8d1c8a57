-- Address at which other nodes open links to this node (docs/node-links.md). Null for a node that accepts no links.
alter table cluster_node add column link_url text;
