-- concurrent
-- Serial numbers, which are members of objects that devices report, such as `{"model": "T4", "serial": "MS2400012345"}`. A search finds
-- them by their beginning. Values that are texts themselves are in `device_property_value`.
create index concurrently if not exists device_property_serial on device_property
  ((lower(left(coalesce(value_json ->> 'serial', value_json ->> 'serialNumber'), 255)) collate "C"), device_id)
  where coalesce(value_json ->> 'serial', value_json ->> 'serialNumber') is not null;
