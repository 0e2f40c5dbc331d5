SET net_write_timeout=600000
select database()
select version(), @@version_comment, database()
select @@lower_case_table_names
select @@session.transaction_isolation
select schema_name, default_collation_name from information_schema.schemata order by if(schema() = schema_name, 1, 2), schema_name
select collation_name, character_set_name, is_default collate utf8_general_ci = 'Yes' as is_default from information_schema.collations
select table_name, table_type, table_comment, engine, table_collation, create_options from information_schema.tables where table_schema = 'demo'
select ordinal_position, column_name, column_type, column_default, generation_expression, table_name, column_comment, is_nullable, extra, collation_name from information_schema.columns where table_schema = 'demo' order by table_name, ordinal_position
select index_name, index_comment, index_type, non_unique, column_name, sub_part, collation, expression, table_name from information_schema.statistics where table_schema = 'demo' order by index_schema, table_name, index_name, index_type, seq_in_index
select c.constraint_name, c.constraint_schema, c.table_name, c.constraint_type, false enforced from information_schema.table_constraints c where c.table_schema = 'demo'
select constraint_name, table_name, column_name, referenced_table_schema, referenced_table_name, referenced_column_name from information_schema.key_column_usage where table_schema = 'demo' and referenced_column_name is not null order by table_name, constraint_name, ordinal_position
select constraint_name, table_name, update_rule, delete_rule from information_schema.referential_constraints where constraint_schema = 'demo'
select grantee, table_name, column_name, privilege_type, is_grantable from information_schema.column_privileges where table_schema = 'demo' union all select grantee, table_name, '' column_name, privilege_type, is_grantable from information_schema.table_privileges where table_schema = 'demo' order by table_name, grantee, privilege_type
select routine_name, routine_type, routine_definition, routine_comment, dtd_identifier, definer, is_deterministic = 'YES' is_deterministic, sql_data_access, security_type from information_schema.routines where routine_schema = 'demo'
select event_name, event_comment, definer, event_type = 'RECURRING' recurring, interval_value, interval_field, execute_at, starts, ends, status, on_completion = 'PRESERVE' preserve, last_executed from information_schema.events where event_schema = 'demo'
select trigger_name, event_object_table, event_manipulation, action_timing, definer from information_schema.triggers where trigger_schema = 'demo'
select table_name, partition_name, subpartition_name, partition_ordinal_position, partition_method, partition_expression from information_schema.partitions where table_schema = 'demo' and partition_name is not null
select table_name, view_definition, definer from information_schema.views where table_schema = 'demo'
show warnings
