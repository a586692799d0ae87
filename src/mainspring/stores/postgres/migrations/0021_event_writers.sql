-- Events are read in the order of `seq`. Sequence numbers are not handed out in commit order, so a reader must stop
-- before the oldest writer of events that has not ended. That used to be the oldest transaction of the whole server:
-- any client of any of its databases could hold every event back. Now writers of events mark themselves.
-- `tx` used to be the number of the writing transaction. From here on it is one constant beyond every such number, so
-- that rows and cursors from before keep their place. A process of an older version reads no row that is written from
-- here on: it skips none, and it goes on when it is restarted with this version.
ALTER TABLE event ALTER COLUMN tx SET DEFAULT '1000000000000000';

-- The writer holds a shared advisory lock until its transaction ends. The key is the newest number at that time: the
-- numbers of its rows are greater. A trigger for the statement runs before the first number is drawn, whoever inserts.
-- One lock is enough for a transaction, and a bulk of statements must not fill the server's table of locks.
CREATE FUNCTION mark_event_writer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF COALESCE(current_setting('mainspring.writes_events', true), '') = '' THEN
        PERFORM pg_advisory_xact_lock_shared(TG_RELID::int, (last_value - (NOT is_called)::int)::bit(32)::int)
        FROM event_seq_seq;
        PERFORM set_config('mainspring.writes_events', 'yes', true);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER event_writers BEFORE INSERT ON event FOR EACH STATEMENT EXECUTE FUNCTION mark_event_writer();

-- Which writers have not ended: their processes, and the number that every row of theirs is beyond. A key is the low
-- 32 bits of that number, which lies within 2^31 of the newest one, on either side: it may have been read later.
CREATE FUNCTION event_writers(newest bigint) RETURNS TABLE (pid int, virtualtransaction text, beyond bigint)
VOLATILE LANGUAGE sql AS $$
    SELECT pid, virtualtransaction, newest - ((newest - objid::bigint + 2147483648) & 4294967295) + 2147483648
    FROM pg_locks WHERE locktype = 'advisory' AND classid = 'event'::regclass AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
$$;

-- Up to which number every event has been committed or never will be. First the newest number, then the writers: who
-- drew a number up to it had marked itself before. A statement that begins after this has returned sees all of them.
CREATE FUNCTION event_horizon() RETURNS bigint VOLATILE LANGUAGE plpgsql AS $$
DECLARE
    newest bigint;
BEGIN
    SELECT last_value - (NOT is_called)::int INTO newest FROM event_seq_seq;
    RETURN LEAST(newest, (SELECT MIN(beyond) FROM event_writers(newest)));
END $$;
