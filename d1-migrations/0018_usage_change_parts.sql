-- `usage_changes`, which is empty, stays: a version from before this migration writes there after a rollback.
CREATE TABLE `usage_change_parts` (
	`part` integer PRIMARY KEY NOT NULL,
	`changes` text NOT NULL
);
