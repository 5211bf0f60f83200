DROP INDEX `api_keys_by_organization`;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `expires_at_ms` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `last_used_at_ms` integer;--> statement-breakpoint
CREATE INDEX `api_keys_by_organization` ON `api_keys` (`organization_id`,`created_at_ms`,`key_id`);