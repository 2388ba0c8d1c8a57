-- Order of the device list that a person has chosen in a project.
alter table user_view add column sort text;
