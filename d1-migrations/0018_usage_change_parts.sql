-- Written by hand: `usage_changes` is empty and stays, because a version from before this migration writes there after a rollback.
CREATE TABLE `usage_change_parts` (
	`part` integer PRIMARY KEY NOT NULL,
	`changes` text NOT NULL
);
